import type { ClusterEvent } from '../../model/cluster.ts';
import { NamespaceBudget } from '../../model/namespacebudget.ts';
import type { Problem } from '../../model/problem.ts';
import { PolicyHold } from './hold.ts';
import { NODES } from './resource.ts';
import { UnreadNodes } from './unreadnodes.ts';

/** How it stands with one kind of object. */
export interface SourceStatus {
  /** `Pod`, `ClusterNetworkPolicy`. */
  readonly source: string;
  /** Of a kind that is served in several; absent where there is one only. */
  readonly version?: string;
  /** Read whole for the first time; unreadable, so that what was known stays; readable again; not served at all. */
  readonly state: 'synced' | 'lost' | 'recovered' | 'absent';
  readonly reason?: string;
}

export interface ClusterListener {
  /** What changed at one moment; never empty. */
  onEvents(events: readonly ClusterEvent[]): void;
  /** Everything that is wrong with objects of the cluster now, whenever that changes. */
  onProblems(problems: readonly Problem[]): void;
  onSource(status: SourceStatus): void;
}

/** Where all sources of one cluster publish what they found; what depends on several of them is decided here. */
export class ClusterFeed {
  readonly hold: PolicyHold;
  readonly #listener: ClusterListener;
  readonly #nodes = new UnreadNodes();
  readonly #budget = new NamespaceBudget();
  readonly #problems = new Map<string, readonly Problem[]>();
  #reportedProblems = '[]';

  constructor(listener: ClusterListener, node?: string) {
    this.#listener = listener;
    this.hold = new PolicyHold(node);
  }

  /** Also with nothing new, for what was held. */
  publish(events: readonly ClusterEvent[]): void {
    const passed = this.#budget.pass(this.#nodes.pass(this.hold.pass(events)));
    this.#toListener(passed);
    if (passed.some(({ type }) => type === 'policy'))
      this.reportProblems('namespaces', this.#budget.problems());
  }

  #toListener(events: readonly ClusterEvent[]): void {
    if (events.length > 0) this.#listener.onEvents(events);
  }

  /** All that is wrong with the objects of one source. */
  reportProblems(source: string, problems: readonly Problem[]): void {
    if (this.#problems.get(source) === problems) return;
    if (problems.length === 0 && !this.#problems.has(source)) return;
    this.#problems.set(source, problems);
    const all = [...this.#problems.values()].flat();
    const text = JSON.stringify(all);
    if (text !== this.#reportedProblems) this.#listener.onProblems(all);
    this.#reportedProblems = text;
  }

  reportSource(status: SourceStatus): void {
    if (status.source === NODES.kind && status.state === 'synced') this.#toListener(this.#nodes.setKnown());
    this.#listener.onSource(status);
  }
}
