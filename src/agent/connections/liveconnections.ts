/**
 * Live connections follow policy: after a commit that may deny what was allowed, those of local pods are read and
 * judged like new ones, by what policy says to the end that opened them (N38); the kernel is made to forget the
 * denied ones, and the guard (compiler/midstreamguard.ts) keeps them from coming back. One look is under way at a time; what
 * commits meanwhile ask for is looked at together, in the next one.
 */

import { podMap } from '../../compiler/base.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import { familyOf } from '../../model/address.ts';
import { addressOwners, type Cluster, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { flowText } from '../../semantics/flowtext.ts';
import type { Committed } from '../committed.ts';
import type { Log } from '../log.ts';
import { type AffectedAddresses, affectedAddresses, merge } from './tightening.ts';

/** What it needs to know of a commit. */
export type Programmed = Pick<Committed, 'cluster' | 'ruleset' | 'ops' | 'unknownBefore'>;

export interface LiveConnectionsOptions {
  readonly conntrack: Conntrack;
  /** The node's own, whatever interface has them: what it sends to its pods passes no rule (N43). */
  readonly ownAddresses: () => ReadonlySet<Address>;
  readonly log: Log;
}

export interface CutCounts {
  /** Looks at the table. */
  looks: number;
  /** Connections that were judged. */
  judged: number;
  cut: number;
}

const MOST_NAMES_IN_A_LINE = 5;
const RETRY_MS = 1_000;

export class LiveConnections {
  readonly #conntrack: Conntrack;
  readonly #ownAddresses: () => ReadonlySet<Address>;
  readonly #log: Log;
  /** Since the agent started. */
  readonly counts: CutCounts = { looks: 0, judged: 0, cut: 0 };
  #last: Programmed | undefined;
  #concern: AffectedAddresses = 'nobody';
  #looking: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor({ conntrack, ownAddresses, log }: LiveConnectionsOptions) {
    this.#conntrack = conntrack;
    this.#ownAddresses = ownAddresses;
    this.#log = log;
  }

  /** Never waits. */
  follow(committed: Programmed): void {
    const before = committed.unknownBefore ? undefined : this.#last?.ruleset;
    const first = this.#last === undefined;
    this.#last = committed;
    const concern = first ? 'everybody' : affectedAddresses(before, committed.ruleset, committed.ops);
    this.#concern = merge(this.#concern, concern);
    this.#lookIfConcerned();
  }

  /** Waits until all that was followed has been looked at. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  close(): void {
    this.#closed = true;
    this.#concern = 'nobody';
    clearTimeout(this.#retry);
    this.#conntrack.close();
  }

  #lookIfConcerned(): void {
    if (this.#concern !== 'nobody') this.#looking ??= this.#lookUntilDone();
  }

  async #lookUntilDone(): Promise<void> {
    try {
      while (this.#concern !== 'nobody') {
        const concern = this.#concern;
        this.#concern = 'nobody';
        await this.#look(concern, this.#last!);
      }
    } catch (error) {
      this.#lookAgain(error as Error);
    } finally {
      this.#looking = undefined;
    }
  }

  /** With the next commit, or by ourselves: what is denied must not stay open because nothing happens. */
  #lookAgain(error: Error): void {
    if (this.#closed) return;
    this.#concern = 'everybody';
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#lookIfConcerned(), RETRY_MS);
    const fields = { error, retryMs: RETRY_MS };
    this.#log.error(fields, `live connections could not be judged: ${error.message}`);
  }

  async #look(concern: 'everybody' | ReadonlySet<Address>, committed: Programmed): Promise<void> {
    const startMs = performance.now();
    const checker = new ConnectionChecker(committed, this.#ownAddresses());
    const denied: Connection[] = [];
    await this.#conntrack.read(
      concern === 'everybody' ? 'all' : [...concern],
      flow => checker.hasSay(flow) && checker.denies(flow),
      connection => denied.push(connection),
    );
    const cut = denied.length === 0 ? 0 : await this.#conntrack.delete(denied);
    this.counts.looks++;
    this.counts.judged += checker.judged;
    this.counts.cut += cut;
    if (cut > 0) this.#report(cut, denied, checker.judged, performance.now() - startMs);
  }

  #report(cut: number, denied: readonly Connection[], judged: number, tookMs: number): void {
    const flows = [...new Map(denied.slice(0, 100).map(({ flow }) => [flowText(flow), flow])).values()];
    const owners = addressOwners(this.#last!.cluster);
    const shown = flows.slice(0, MOST_NAMES_IN_A_LINE).map(flow => namedFlow(flow, owners));
    const more = flows.length > shown.length || denied.length > 100 ? ', …' : '';
    this.#log.info(
      { cut, judged, tookMs: Math.round(tookMs) },
      `cut ${cut} ${cut === 1 ? 'connection' : 'connections'} that policy denies now: ${shown.join(', ')}${more}`,
    );
  }
}

/** Judges the connections that this node enforces policy on. */
export class ConnectionChecker {
  readonly #committed: Programmed;
  readonly #own: ReadonlySet<Address>;
  readonly #known = new Map<string, boolean>();
  #evaluate: ReturnType<typeof evaluator> | undefined;
  judged = 0;

  constructor(committed: Programmed, own: ReadonlySet<Address>) {
    this.#committed = committed;
    this.#own = own;
  }

  /** Whether a connection from one to the other met a rule of this node when it was opened. */
  hasSay({ from, to }: Flow): boolean {
    return this.#enforces('egress', from, to) || this.#enforces('ingress', from, to);
  }

  denies(flow: Flow): boolean {
    this.judged++;
    const { from, to, protocol, port, viaService } = flow;
    const key = `${from} ${to} ${protocol} ${port} ${viaService}`;
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const denied = this.#denies(flow);
    this.#known.set(key, denied);
    return denied;
  }

  #denies(flow: Flow): boolean {
    // Made when the first is judged, of the state at that moment: the cluster goes on changing meanwhile.
    this.#evaluate ??= evaluator(copyOf(this.#committed.cluster));
    const verdict = this.#evaluate(flow);
    return (['egress', 'ingress'] as const).some(
      direction => verdict[direction].verdict === 'deny' && this.#enforces(direction, flow.from, flow.to),
    );
  }

  #enforces(direction: Direction, from: Address, to: Address): boolean {
    if (direction === 'egress') return this.#hasClass('egress', from);
    return !this.#own.has(from) && this.#hasClass('ingress', to);
  }

  #hasClass(direction: Direction, address: Address): boolean {
    const element = this.#element(direction, address);
    return element !== undefined && classChain(element) !== undefined;
  }

  #element(direction: Direction, address: Address) {
    const family = familyOf(address);
    const { tables } = this.#committed.ruleset;
    return tables.get(family)?.sets.get(podMap(direction, family).name)?.elements.get(address);
  }
}

/** `shop/web -> shop/db:5432/TCP`: addresses where no pod owns them. */
function namedFlow({ from, to, port, protocol }: Flow, owners: ReadonlyMap<Address, Pod>): string {
  const nameOf = (address: Address) => owners.get(address)?.key ?? address;
  const target = owners.has(to) || port === undefined || familyOf(to) === 'ip' ? nameOf(to) : `[${to}]`;
  return `${nameOf(from)} -> ${target}${port === undefined ? '' : `:${port}`}/${protocol}`;
}

/** Objects never change, but the maps that hold them do. */
function copyOf({ namespaces, pods, nodes, policies }: Cluster): Cluster {
  return {
    namespaces: new Map(namespaces),
    pods: new Map(pods),
    nodes: new Map(nodes),
    policies: new Map(policies),
  };
}
