/**
 * Open connections follow policy. After a commit that may deny what was allowed, the connections of the pods that it concerns
 * are read and judged like new ones (N38). The kernel is made to forget those that are denied while the others are read, and the
 * guard (compiler/midstreamguard.ts) keeps them from coming back.
 *
 *                     ┌ few addresses ──▶ short scans ─┬▶ cut
 *     commit ──affected                       │ crowded │
 *                ▲    └ many, or crowded ──▶ long scans ┘
 *                └── a second later, once more: with the next scan, or within a quarter of a second
 *
 * A scan of few addresses takes the kernel milliseconds; a scan of very many connections takes seconds of reading, judging and
 * cutting. Neither waits for the other: a short scan leaves an address with very many connections (crowded) to a long one.
 *
 * The second scan is for a first packet that was on its way while the rules changed: the old ones let it pass, and the kernel
 * begins to track it when the first scan is over. Connections that have no reply yet are judged like the others. What their
 * opener sends is new to the rules and dropped; but a reply would make them established, and from then on everything passes.
 */
import { once } from '../../lib/collections/once.ts';
import { type Address, familyOf } from '../../model/address.ts';
import { ownerOf } from '../../model/addressowners.ts';
import { type Cluster, isSelectable, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import { type Connection, type Conntrack, FEW_ADDRESSES } from '../../nft/conntrack.ts';
import { flowText } from '../../semantics/flowtext.ts';
import { selects } from '../../semantics/match.ts';
import type { Committed } from '../committed.ts';
import type { Log } from '../log.ts';
import { ConnectionChecker } from './connectionchecker.ts';
import { type NamesKnown, withKnownNames } from './knownnames.ts';
import { ScanQueue, ScanQuota, SecondScans } from './scanqueue.ts';
import { type AffectedAddresses, addresses, affectedAddresses, allBut, merge } from './tightening.ts';

/** The parts of a commit that scanning connections needs. */
export type Programmed = Pick<Committed, 'cluster' | 'ruleset' | 'ops' | 'unknownBefore'> &
  Partial<Pick<Committed, 'isolating'>>;

export interface LiveConnectionsOptions {
  readonly conntrack: Conntrack;
  /** The node's own addresses, of all interfaces: what the node sends to its pods passes no rule (N43). */
  readonly ownAddresses: () => ReadonlySet<Address>;
  readonly log: Log;
  /** The node whose pods are local. */
  readonly node?: string;
  /** Present on a node that reads the DNS answers of its pods. */
  readonly names?: NamesKnown;
  /** The time after which everything is scanned once more. */
  readonly againMs?: number;
}

export interface CutCounts {
  scans: number;
  /** Connections that were judged. */
  judged: number;
  cut: number;
}

const AGAIN_MS = 1_000;
const RETRY_MS = 1_000;
/** For that part of the time before it, a second scan waits for another one that takes place anyway. */
const PATIENCE = 1 / 4;
const TIMERS_END_EARLY_MS = 1;
/** Connections of a short scan: some tens of milliseconds. */
const MOST_OF_SHORT = 10_000;
/** Denied connections take memory until they are cut. */
const CUT_AT_ONCE = 1_000;
const NONE: ReadonlySet<PolicyId> = new Set();
/** Connections of a scan, for the log. */
const MOST_REPORTED = 200;
/** Addresses that wait for the DNS answers of their pods: where these never become known, there would be ever more. */
const MOST_BLIND = 4_096;

export class LiveConnections {
  readonly #options: LiveConnectionsOptions & { readonly againMs: number };
  /** Counts since the start of the agent. */
  readonly counts: CutCounts = { scans: 0, judged: 0, cut: 0 };
  readonly #closed = new AbortController();
  readonly #short = this.#scanQueue(affected => this.#scanFew(affected));
  readonly #long = this.#scanQueue(affected => this.#scanMany(affected));
  /** Addresses that a short scan left out because they have too many connections. */
  readonly #crowded = new Set<Address>();
  /** Scanned before the DNS answers of pods were known. */
  #blind: AffectedAddresses = 'none';
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #second: SecondScans;
  #secondTimer: NodeJS.Timeout | undefined;
  readonly #awaiting: AwaitingAllowances;
  /** Left out of the scans until now. */
  #held: ReadonlySet<Address> = new Set();
  #last: Programmed | undefined;

  constructor(options: LiveConnectionsOptions) {
    this.#options = { againMs: AGAIN_MS, ...options };
    const { againMs } = this.#options;
    this.#awaiting = new AwaitingAllowances(options.node, againMs);
    this.#second = new SecondScans(againMs, PATIENCE * againMs);
  }

  /** Called with every commit. Returns at once: scanning goes on in the background. */
  committed(programmed: Programmed): void {
    const before = programmed.unknownBefore ? undefined : this.#last?.ruleset;
    const isFirst = this.#last === undefined;
    this.#last = programmed;
    const affected = isFirst ? 'all' : affectedAddresses(before, programmed.ruleset, programmed.ops);
    const scanned = this.#withoutHeld(programmed, affected);
    const nowMs = performance.now();
    if (scanned !== 'none')
      this.#scan(nowMs < this.#second.fromMs ? scanned : this.#withSecond(scanned, nowMs));
    if (affected !== 'none') this.#scanAgain(affected, nowMs);
  }

  /** Leaves out pods whose allow rules are still to come: they are in a later scan, when these rules are in force. */
  #withoutHeld({ cluster, isolating = NONE }: Programmed, affected: AffectedAddresses): AffectedAddresses {
    const held = this.#awaiting.of(cluster, isolating, performance.now());
    if (held.size + this.#held.size === 0) return affected;
    const released = [...this.#held].filter(address => !held.has(address));
    this.#held = held;
    return merge(allBut(affected, addresses(held)), addresses(released));
  }

  /** Waits until everything from earlier commits has been scanned once. */
  async settled(): Promise<void> {
    for (;;) {
      const scanning = this.#short.scanning ?? this.#long.scanning;
      if (scanning === undefined) return;
      await scanning;
    }
  }

  close(): void {
    this.#closed.abort();
    this.#short.clear();
    this.#long.clear();
    this.#blind = 'none';
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#secondTimer);
    this.#options.conntrack.close();
  }

  #scanQueue(scan: (affected: AffectedAddresses) => Promise<void>): ScanQueue {
    return new ScanQueue({ scan, failed: error => this.#retry(error), closed: this.#closed.signal });
  }

  #scan(affected: AffectedAddresses): void {
    const isFew = affected instanceof Set;
    const others = isFew ? (this.#crowded.size === 0 ? [...affected] : this.#notCrowded(affected)) : [];
    const isShort = isFew && others.length <= FEW_ADDRESSES;
    this.#short.add(isShort ? addresses(others) : 'none');
    this.#long.add(isShort ? addresses(this.#crowdedOf(affected)) : affected);
  }

  #notCrowded(affected: ReadonlySet<Address>): Address[] {
    return [...affected].filter(address => !this.#crowded.has(address));
  }

  /** With addresses that are to be scanned once more now, as far as a short scan remains short. */
  #withSecond(affected: AffectedAddresses, nowMs: number): AffectedAddresses {
    const isShort = (all: AffectedAddresses) =>
      all instanceof Set && this.#notCrowded(all).length <= FEW_ADDRESSES;
    const mayBeLong = !isShort(affected);
    return this.#second.take(nowMs, affected, all => mayBeLong || isShort(all));
  }

  #scanAgain(affected: AffectedAddresses, nowMs: number): void {
    this.#second.add(affected, nowMs);
    if (this.#secondTimer === undefined) this.#awaitSecond(nowMs);
  }

  /** One timer, for those that have waited longest. They may have been scanned with others when it ends. */
  #awaitSecond(nowMs: number): void {
    if (this.#closed.signal.aborted) return;
    const ended = () => {
      this.#secondTimer = undefined;
      const endMs = performance.now();
      if (this.#second.untilMs < endMs + TIMERS_END_EARLY_MS) this.#scan(this.#second.take(endMs));
      if (this.#second.fromMs < Number.POSITIVE_INFINITY) this.#awaitSecond(endMs);
    };
    this.#secondTimer = setTimeout(ended, this.#second.untilMs - nowMs).unref();
  }

  #scanLater(affected: AffectedAddresses, ms: number): void {
    if (this.#closed.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#scan(affected);
    }, ms);
    this.#timers.add(timer.unref());
  }

  /** Scans again after an error: a denied connection must not stay open only because no further event occurs. */
  #retry(error: Error): void {
    if (this.#closed.signal.aborted) return;
    this.#long.hold('all'); // with the next commit, or by ourselves
    this.#scanLater('all', RETRY_MS);
    const fields = { error, retryMs: RETRY_MS };
    this.#options.log.error(fields, `live connections could not be judged: ${error.message}`);
  }

  async #scanFew(affected: AffectedAddresses): Promise<void> {
    const quota = new ScanQuota(typeof affected === 'string' ? [] : affected, MOST_OF_SHORT);
    await this.#read(affected, flow => quota.admits(flow));
    for (const address of quota.left) this.#crowded.add(address);
    this.#long.add(addresses(quota.left));
  }

  async #scanMany(affected: AffectedAddresses): Promise<void> {
    const asked = this.#crowdedOf(affected);
    const quota = new ScanQuota(asked, Number.POSITIVE_INFINITY);
    await this.#read(affected, flow => quota.admits(flow));
    for (const address of asked)
      if (quota.countOf(address) <= MOST_OF_SHORT / FEW_ADDRESSES) this.#crowded.delete(address);
  }

  #crowdedOf(affected: AffectedAddresses): Address[] {
    const isAsked = (address: Address) =>
      affected === 'all' || (affected !== 'none' && affected.has(address));
    return [...this.#crowded].filter(isAsked);
  }

  async #read(affected: AffectedAddresses, isPart: (flow: Flow) => boolean): Promise<void> {
    const { conntrack, names } = this.#options;
    const programmed = this.#last;
    if (affected === 'none' || programmed === undefined) return;
    const startMs = performance.now();
    const isBlind = names !== undefined && names.subjects.sets.length > 0 && names.cache === undefined;
    const checker = this.#checker(programmed);
    const denied: Connection[] = [];
    const reported: Connection[] = [];
    let cut = 0;
    const cutThem = async () => {
      const gone = await this.#cut(denied.splice(0), programmed);
      cut += gone.count;
      reported.push(...gone.of.slice(0, MOST_REPORTED - reported.length));
    };
    await conntrack.read(
      affected === 'all' ? 'all' : [...affected],
      flow => isPart(flow) && checker.denies(flow),
      connection => denied.push(connection),
      () => (denied.length >= CUT_AT_ONCE ? cutThem() : undefined),
    );
    await cutThem();
    this.counts.scans++;
    this.counts.judged += checker.judged;
    this.#options.log.debug({ judged: checker.judged, blind: isBlind }, 'open connections were scanned');
    if (isBlind) this.#scanOnceKnown(names, affected);
    if (cut > 0) this.#report(cut, reported, checker.judged, performance.now() - startMs);
  }

  #checker({ ruleset, cluster }: Programmed): ConnectionChecker {
    const { ownAddresses, names, node } = this.#options;
    const localPods = once(() => addressesOn(cluster, node));
    return new ConnectionChecker(withKnownNames(ruleset, names), once(ownAddresses), localPods);
  }

  /** Answers the connections that are denied still, and how many of them the kernel knew. */
  async #cut(denied: readonly Connection[], checkedBy: Programmed) {
    const of = await this.#stillDenied(denied, checkedBy);
    const count = of.length === 0 ? 0 : await this.#options.conntrack.delete(of);
    this.counts.cut += count;
    return { of, count };
  }

  /**
   * Scans connections that a rule by name may have allowed. They were skipped as long as the DNS answers of the pods
   * were not known.
   */
  #scanOnceKnown(names: NamesKnown, affected: AffectedAddresses): void {
    if (this.#closed.signal.aborted) return;
    const isWaiting = this.#blind !== 'none';
    const all = merge(this.#blind, affected);
    this.#blind = all instanceof Set && all.size > MOST_BLIND ? 'all' : all;
    if (isWaiting) return;
    void names.known().then(() => {
      const blind = this.#blind;
      this.#blind = 'none';
      this.#scan(blind);
    });
  }

  /**
   * Checks again before cutting: rules may have come to allow the connection during the scan, or a DNS answer may have
   * allowed it that was not known yet.
   */
  async #stillDenied(denied: readonly Connection[], checkedBy: Programmed): Promise<readonly Connection[]> {
    const { names } = this.#options;
    if (denied.length === 0) return denied;
    if (names !== undefined && names.subjects.sets.length > 0) await names.synced();
    else if (this.#last === checkedBy) return denied;
    const checker = this.#checker(this.#last ?? checkedBy);
    return denied.filter(({ flow }) => checker.denies(flow));
  }

  #report(cut: number, denied: readonly Connection[], judged: number, tookMs: number): void {
    const fields = { cut, judged, tookMs: Math.round(tookMs) };
    this.#options.log.info(fields, cutText(cut, denied, this.#last!.cluster));
  }
}

function addressesOn({ pods }: Programmed['cluster'], node: string | undefined): ReadonlySet<Address> {
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  return new Set(local.flatMap(({ addresses }) => addresses));
}

/** The line of the log about connections that were cut. */
const MOST_NAMED = 5;
const MOST_LOOKED_AT = 100;

/** `cut 6 connections that policy denies now: shop/web -> shop/db:80/TCP, …`. */
function cutText(cut: number, denied: readonly Connection[], cluster: Cluster): string {
  const some = denied.slice(0, MOST_LOOKED_AT).map(({ flow }) => flow);
  const flows = [...new Map(some.map(flow => [flowText(flow), flow])).values()];
  const shown = flows.slice(0, MOST_NAMED);
  const owners = ownersOf(cluster, new Set(shown.flatMap(({ from, to }) => [from, to])));
  const names = shown.map(flow => namedFlow(flow, owners)).join(', ');
  const more = flows.length > shown.length || denied.length > MOST_LOOKED_AT ? ', …' : '';
  const noun = cut === 1 ? 'connection' : 'connections';
  return `cut ${cut} ${noun} that policy denies now: ${names}${more}`;
}

/** Owners of a few addresses; a map of all pods would be rebuilt for each conntrack entry. */
function ownersOf(cluster: Cluster, addresses: ReadonlySet<Address>): ReadonlyMap<Address, Pod> {
  const owners = [...addresses].map(address => [address, ownerOf(cluster, address)] as const);
  return new Map(owners.filter((entry): entry is [Address, Pod] => entry[1] !== undefined));
}

/** `shop/web -> shop/db:5432/TCP`: addresses where no pod owns them. */
function namedFlow({ from, to, port, protocol }: Flow, owners: ReadonlyMap<Address, Pod>): string {
  const nameOf = (address: Address) => owners.get(address)?.key ?? address;
  const target = owners.has(to) || port === undefined || familyOf(to) === 'ip' ? nameOf(to) : `[${to}]`;
  return `${nameOf(from)} -> ${target}${port === undefined ? '' : `:${port}`}/${protocol}`;
}

/** Limit for a namespace: evaluating more policies for each of its pods would block the event loop. */
const MOST_OF_NAMESPACE = 50;

/**
 * The pods whose open connections are not judged yet: a new policy isolates them while its allow rules follow. New connections
 * are denied at once. An open one may be what the policy is about to allow, and once cut it does not come back through a
 * Service, which would lead its next packet to another pod. So it is judged when the allow rules are in force, or after a
 * second without them: as late as if the policy had not isolated before.
 */
export class AwaitingAllowances {
  readonly #node: string | undefined;
  readonly #mostMs: number;
  readonly #sinceMs = new Map<PolicyId, number>();

  constructor(node: string | undefined, mostMs: number) {
    this.#node = node;
    this.#mostMs = mostMs;
  }

  /** Addresses of the pods that such policies select now. */
  of(cluster: Cluster, isolating: Committed['isolating'], nowMs: number): ReadonlySet<Address> {
    for (const id of this.#sinceMs.keys()) if (!isolating.has(id)) this.#sinceMs.delete(id);
    for (const id of isolating) if (!this.#sinceMs.has(id)) this.#sinceMs.set(id, nowMs);
    const young = [...isolating].filter(id => nowMs - this.#sinceMs.get(id)! < this.#mostMs);
    return young.length === 0 ? new Set() : addressesSelected(cluster, this.#node, young);
  }
}

function addressesSelected(cluster: Cluster, node: string | undefined, ids: readonly PolicyId[]) {
  const byNamespace = Map.groupBy(ids, namespaceOfPolicy);
  const isSelected = (pod: Pod): boolean => {
    const its = byNamespace.get(pod.namespace) ?? [];
    if (pod.node !== node || its.length > MOST_OF_NAMESPACE) return false;
    return its.some(id => maySelect(cluster, cluster.policies.get(id), pod));
  };
  return new Set([...cluster.pods.values()].filter(isSelected).flatMap(({ addresses }) => addresses));
}

const maySelect = (cluster: Cluster, policy: Policy | undefined, pod: Pod) =>
  policy !== undefined && selects(cluster, policy.subject, pod) !== 'no';
