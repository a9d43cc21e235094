import type { Timing } from '../../../lib/async/timing.ts';
import { errorText } from '../../../lib/text/errortext.ts';
import type { ClusterEvent, PodKey } from '../../../model/cluster.ts';
import { firstProblems } from '../../../model/firstproblems.ts';
import { NamespaceBudget } from '../../../model/namespacebudget.ts';
import type { Direction, Policy, PolicyId, Rule } from '../../../model/policy.ts';
import type { ObjectReference, Problem } from '../../../model/problem.ts';
import { type IsLiving, NamespaceQuestions } from './namespacequestions.ts';
import { NETWORK_POLICIES, NODES, PODS } from './resource.ts';
import { TerminatingNamespaces } from './terminatingnamespaces.ts';

/** The state of one kind of object. */
export interface SourceStatus {
  /** `Pod`, `ClusterNetworkPolicy`. */
  readonly source: string;
  /** The version that is read, if the kind is served in several; absent where there is only one. */
  readonly version?: string;
  /**
   * Read completely for the first time; unreadable, so that the last known state stays, reported again for another
   * reason; readable again; not served at all.
   */
  readonly state: 'synced' | 'lost' | 'recovered' | 'absent';
  readonly reason?: string;
}

export interface ClusterListener {
  /** Changes that belong together; never empty. */
  onEvents(events: readonly ClusterEvent[]): void;
  /** Everything that is wrong with objects of the cluster now, whenever that changes. */
  onProblems(problems: readonly Problem[]): void;
  onSource(status: SourceStatus): void;
}

export interface FeedNeeds {
  readonly isLiving: IsLiving;
  readonly timing: Timing;
  /** After this signal only the sources themselves publish. */
  readonly signal: AbortSignal;
  readonly node?: string | undefined;
  readonly isolated?: ReadonlyMap<PodKey, ReadonlySet<Direction>> | undefined;
  readonly identities?: Identities;
}

/** All sources of one cluster publish here; decisions that depend on several of them are made here. */
export class ClusterFeed {
  readonly terminating: TerminatingNamespaces;
  readonly identities: Identities;
  readonly #listener: ClusterListener;
  readonly #nodes = new NodesNotSynced();
  readonly #budget = new NamespaceBudget();
  readonly #problems = new Map<string, readonly Problem[]>();
  readonly #questions: NamespaceQuestions;
  readonly #unlisted = new Set([PODS.kind, NETWORK_POLICIES.kind]);

  constructor(listener: ClusterListener, needs: FeedNeeds) {
    const { isLiving, timing, signal, node, isolated, identities = new Identities() } = needs;
    this.#listener = listener;
    this.identities = identities;
    this.terminating = new TerminatingNamespaces(node, isolated);
    const publish = (events: readonly ClusterEvent[]) => this.#publish(events);
    this.#questions = new NamespaceQuestions({
      terminating: this.terminating,
      isLiving,
      publish,
      timing,
      signal,
    });
  }

  /** Resolves when it is known which waiting events have to be held. */
  get settled(): Promise<void> {
    return this.#questions.settled();
  }

  /** Publishes events, and held ones that are free now; call it also without new events. */
  publish(events: readonly ClusterEvent[]): void {
    this.#publish(this.terminating.pass(events));
    const questions = this.terminating.drainQuestions();
    if (questions.length > 0) this.#questions.ask(questions);
  }

  #publish(events: readonly ClusterEvent[]): void {
    const passed = this.#budget.pass(this.#nodes.pass(events));
    this.#toListener(passed);
    if (passed.some(({ type }) => type === 'policy'))
      this.reportProblems('namespaces', this.#budget.problems());
  }

  #toListener(events: readonly ClusterEvent[]): void {
    if (events.length > 0) this.#listener.onEvents(events);
  }

  /** Sets all problems of the objects of one source. */
  reportProblems(source: string, problems: readonly Problem[]): void {
    const before = this.#problems.get(source) ?? [];
    if (before === problems) return;
    this.#problems.set(source, problems);
    if (!areSame(before, problems))
      this.#listener.onProblems(boundedProblems([...this.#problems.values()].flat()));
  }

  reportSource(status: SourceStatus): void {
    if (status.state === 'synced') this.#synced(status.source);
    this.#listener.onSource(status);
  }

  #synced(source: string): void {
    if (source === NODES.kind) this.#toListener(this.#nodes.setKnown());
    if (!this.#unlisted.delete(source) || this.#unlisted.size > 0) return;
    this.terminating.setListed();
    this.publish([]);
  }
}

/** Nearly all are the same objects as before. */
function areSame(a: readonly Problem[], b: readonly Problem[]): boolean {
  return (
    a.length === b.length &&
    a.every((problem, at) => problem === b[at] || JSON.stringify(problem) === JSON.stringify(b[at]))
  );
}

/**
 * As long as nodes are not known, any address may be a node's. So a rule that denies or passes nodes denies all
 * addresses (N68), and a rule that accepts nodes matches nothing.
 */
export class NodesNotSynced {
  #areKnown = false;
  /** Policies that speak of nodes, as they are. */
  readonly #policies = new Map<PolicyId, ClusterEvent>();

  /** From now on nodes are known; returns the policies that may be published unchanged. */
  setKnown(): readonly ClusterEvent[] {
    if (this.#areKnown) return [];
    this.#areKnown = true;
    const waiting = [...this.#policies.values()];
    this.#policies.clear();
    return waiting;
  }

  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    return this.#areKnown ? events : events.map(event => this.#close(event));
  }

  #close(event: ClusterEvent): ClusterEvent {
    if (event.type !== 'policy') return event;
    this.#policies.delete(event.key);
    if (event.value === undefined || !deniesNodes(event.value)) return event;
    this.#policies.set(event.key, event);
    return {
      ...event,
      value: { ...event.value, closed: 'nodes unread', egress: event.value.egress!.map(closed) },
    };
  }
}

function deniesNodes({ egress = [] }: Policy): boolean {
  return egress.some(rule => closed(rule) !== rule);
}

function closed(rule: Rule): Rule {
  const { action, peers } = rule;
  if (action === 'accept' || peers === 'any' || !peers.some(({ kind }) => kind === 'nodes')) return rule;
  return { ...rule, action: 'deny', peers: 'any' };
}

/** The present problems, as they are published. */
export function boundedProblems(problems: readonly Problem[]): readonly Problem[] {
  const shown = firstProblems(problems);
  if (shown === problems) return problems;
  const message = `there are ${problems.length - shown.length} further problems`;
  const effect = 'they have the same effect as those that are named';
  return [...shown, { severity: 'error', message, effect }];
}

/**
 * The identities of policies on the server, so that a later Event about a policy known by name refers to that very
 * object: `kubectl describe` shows no Event without the object's uid.
 */
export class Identities {
  /** Keys are ids, as `NetworkPolicy shop/web`. */
  readonly #known = new Map<string, ObjectReference>();

  set(id: string, reference: ObjectReference | undefined): void {
    if (reference === undefined) this.#known.delete(id);
    else this.#known.set(id, reference);
  }

  forgetGone(events: readonly ClusterEvent[]): void {
    for (const { type, key, value } of events)
      if (type === 'policy' && value === undefined) this.#known.delete(key);
  }

  /** Completes a reference from the server's object, if it is known. */
  complete(about: ObjectReference): ObjectReference {
    if (about.uid !== undefined) return about;
    const { kind, namespace, name } = about;
    return this.#known.get(`${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`) ?? about;
  }
}

/** Decides which losses and recoveries of a source are reported: a loss that the next attempt repairs is not. */
export class WatchHealth {
  readonly #source: string;
  readonly #report: (status: SourceStatus) => void;
  /** The reason for the loss that was reported; undefined while the source is not lost. */
  #reported: string | undefined;
  /** Why the last try failed. */
  #last: string | undefined;
  #wasSynced = false;

  constructor(source: string, report: (status: SourceStatus) => void) {
    this.#source = source;
    this.#report = report;
  }

  /** Sets whether the watch works; a failed attempt to watch again gives the reason. */
  set(isWatching: boolean, reason?: unknown): void {
    if (isWatching) this.#watching();
    else if (reason !== undefined) this.#failed(errorText(reason));
  }

  #watching(): void {
    if (!this.#wasSynced) this.#report({ source: this.#source, state: 'synced' });
    else if (this.#reported !== undefined) this.#report({ source: this.#source, state: 'recovered' });
    this.#wasSynced = true;
    this.#reported = undefined;
    this.#last = undefined;
  }

  /** A different reason is reported only after two failures in a row with it: some messages differ every time. */
  #failed(reason: string): void {
    const isNews = this.#reported === undefined || (reason !== this.#reported && reason === this.#last);
    this.#last = reason;
    if (!isNews) return;
    this.#reported = reason;
    this.#report({ source: this.#source, state: 'lost', reason });
  }
}
