/**
 * Live connections follow policy: after a commit that may deny what was allowed, those of the pods that it concerns are
 * read and judged like new ones (N38); the kernel is made to forget the denied ones while the others are read, and the
 * guard (compiler/midstreamguard.ts) keeps them from coming back.
 *
 *                     ┌ few addresses ──▶ short looks ─┬▶ cut
 *     commit ──affected                      │ crowded │
 *                ▲    └ many, or crowded ──▶ long looks ┘
 *                └── a second later, once more; commits of a quarter of a second share that look
 *
 * A look at few addresses takes the kernel milliseconds, one at very many connections takes seconds of reading, judging and
 * cutting: neither waits for the other, and a short look leaves whoever has a crowd of them to a long one.
 *
 * The second look is for a first packet that was on its way while the rules changed: the old ones let it pass, and the
 * kernel begins to track it when the first look is over. Connections that nobody has answered yet are judged like the
 * others. What their opener sends is new to the rules and dropped; but an answer, whenever it comes, would be taken for
 * the reply of a known connection, and from then on everything passes.
 */
import { type Address, familyOf } from '../../model/address.ts';
import { ownerOf } from '../../model/addressowners.ts';
import { type Cluster, isSelectable, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { PolicyId } from '../../model/policy.ts';
import { type Connection, type Conntrack, FEW_ADDRESSES } from '../../nft/conntrack.ts';
import { flowText } from '../../semantics/flowtext.ts';
import type { Committed } from '../committed.ts';
import type { Log } from '../log.ts';
import { type AffectedAddresses, addresses, allBut, merge } from './affected.ts';
import { AwaitingAllowances } from './awaiting.ts';
import { ConnectionChecker } from './connectionchecker.ts';
import { type NamesKnown, withKnownNames } from './knownnames.ts';
import { Lane } from './lane.ts';
import { SharedLook } from './sharedlook.ts';
import { affectedAddresses } from './tightening.ts';

/** What it needs to know of a commit. */
export type Programmed = Pick<Committed, 'cluster' | 'ruleset' | 'ops' | 'unknownBefore'> &
  Partial<Pick<Committed, 'isolating'>>;

export interface LiveConnectionsOptions {
  readonly conntrack: Conntrack;
  /** The node's own, whatever interface has them: what it sends to its pods passes no rule (N43). */
  readonly ownAddresses: () => ReadonlySet<Address>;
  readonly log: Log;
  /** Whose pods are local. */
  readonly node?: string;
  /** Of a node that hears what its pods are told by DNS. */
  readonly names?: NamesKnown;
  /** After which time everything that was looked at is looked at once more. */
  readonly againMs?: number;
}

export interface CutCounts {
  /** Looks at the table. */
  looks: number;
  /** Connections that were judged. */
  judged: number;
  cut: number;
}

const AGAIN_MS = 1_000;
const RETRY_MS = 1_000;
/** Commits within that part of the time before a later look share it. */
const TOGETHER = 1 / 4;
/** Connections of a short look: some tens of milliseconds. */
const MOST_OF_SHORT = 10_000;
/** What is denied takes memory until it is cut. */
const CUT_AT_ONCE = 1_000;
const NONE: ReadonlySet<PolicyId> = new Set();
/** Of a look, for the log. */
const MOST_REPORTED = 200;
/** Where it is never known what pods were told, these would only ever become more. */
const MOST_BLIND = 4_096;

export class LiveConnections {
  readonly #options: LiveConnectionsOptions & { readonly againMs: number };
  /** Since the agent started. */
  readonly counts: CutCounts = { looks: 0, judged: 0, cut: 0 };
  readonly #closed = new AbortController();
  readonly #short = this.#lane(affected => this.#lookShortly(affected));
  readonly #long = this.#lane(affected => this.#lookForLong(affected));
  /** Who had so many connections that a short look left them. */
  readonly #crowded = new Set<Address>();
  /** Looked at before anybody knew what pods were told. */
  #blind: AffectedAddresses = 'nobody';
  readonly #timers = new Set<NodeJS.Timeout>();
  /** What is looked at once more, and until when others come to it. */
  #again: { affected: AffectedAddresses; readonly untilMs: number } = { affected: 'nobody', untilMs: 0 };
  readonly #awaiting: AwaitingAllowances;
  /** Left out of the looks until now. */
  #held: ReadonlySet<Address> = new Set();
  #last: Programmed | undefined;

  constructor(options: LiveConnectionsOptions) {
    this.#options = { againMs: AGAIN_MS, ...options };
    this.#awaiting = new AwaitingAllowances(options.node, this.#options.againMs);
  }

  /** Never waits. */
  follow(programmed: Programmed): void {
    const before = programmed.unknownBefore ? undefined : this.#last?.ruleset;
    const isFirst = this.#last === undefined;
    this.#last = programmed;
    const affected = isFirst ? 'everybody' : affectedAddresses(before, programmed.ruleset, programmed.ops);
    this.#lookAt(this.#withoutHeld(programmed, affected));
    if (affected !== 'nobody') this.#lookAgain(affected);
  }

  /** Whoever awaits allowances has the later look, and one when they are there. */
  #withoutHeld({ cluster, isolating = NONE }: Programmed, affected: AffectedAddresses): AffectedAddresses {
    const held = this.#awaiting.of(cluster, isolating, performance.now());
    const released = [...this.#held].filter(address => !held.has(address));
    this.#held = held;
    return merge(allBut(affected, addresses(held)), addresses(released));
  }

  /** Waits until all that was followed has been looked at, once. */
  async settled(): Promise<void> {
    for (;;) {
      const looking = this.#short.looking ?? this.#long.looking;
      if (looking === undefined) return;
      await looking;
    }
  }

  close(): void {
    this.#closed.abort();
    this.#short.clear();
    this.#long.clear();
    this.#blind = 'nobody';
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.conntrack.close();
  }

  #lane(look: (affected: AffectedAddresses) => Promise<void>): Lane {
    return new Lane({ look, failed: error => this.#retry(error), closed: this.#closed.signal });
  }

  #lookAt(affected: AffectedAddresses): void {
    const others =
      affected instanceof Set ? [...affected].filter(address => !this.#crowded.has(address)) : [];
    const isShort = affected instanceof Set && others.length <= FEW_ADDRESSES;
    this.#short.add(isShort ? addresses(others) : 'nobody');
    this.#long.add(isShort ? addresses(this.#crowdedOf(affected)) : affected);
  }

  /** Whoever comes within a part of the time before it shares the look. */
  #lookAgain(affected: AffectedAddresses): void {
    const { againMs } = this.#options;
    const nowMs = performance.now();
    if (nowMs < this.#again.untilMs) {
      this.#again.affected = merge(this.#again.affected, affected);
      return;
    }
    const again = { affected, untilMs: nowMs + TOGETHER * againMs };
    this.#again = again;
    this.#lookLater(() => again.affected, againMs + TOGETHER * againMs);
  }

  #lookLater(affected: () => AffectedAddresses, ms: number): void {
    if (this.#closed.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#lookAt(affected());
    }, ms);
    this.#timers.add(timer.unref());
  }

  /** What is denied must not stay open because nothing happens. */
  #retry(error: Error): void {
    if (this.#closed.signal.aborted) return;
    this.#long.hold('everybody'); // with the next commit, or by ourselves
    this.#lookLater(() => 'everybody', RETRY_MS);
    const fields = { error, retryMs: RETRY_MS };
    this.#options.log.error(fields, `live connections could not be judged: ${error.message}`);
  }

  async #lookShortly(affected: AffectedAddresses): Promise<void> {
    const crowd = new SharedLook(typeof affected === 'string' ? [] : affected, MOST_OF_SHORT);
    await this.#look(affected, flow => crowd.admits(flow));
    for (const address of crowd.left) this.#crowded.add(address);
    this.#long.add(addresses(crowd.left));
  }

  async #lookForLong(affected: AffectedAddresses): Promise<void> {
    const asked = this.#crowdedOf(affected);
    const crowd = new SharedLook(asked, Number.POSITIVE_INFINITY);
    await this.#look(affected, flow => crowd.admits(flow));
    for (const address of asked)
      if (crowd.countOf(address) <= MOST_OF_SHORT / FEW_ADDRESSES) this.#crowded.delete(address);
  }

  #crowdedOf(affected: AffectedAddresses): Address[] {
    const isAsked = (address: Address) =>
      affected === 'everybody' || (affected !== 'nobody' && affected.has(address));
    return [...this.#crowded].filter(isAsked);
  }

  async #look(affected: AffectedAddresses, isPart: (flow: Flow) => boolean): Promise<void> {
    const { conntrack, names } = this.#options;
    const programmed = this.#last;
    if (affected === 'nobody' || programmed === undefined) return;
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
      affected === 'everybody' ? 'all' : [...affected],
      flow => isPart(flow) && checker.denies(flow),
      connection => denied.push(connection),
      () => (denied.length >= CUT_AT_ONCE ? cutThem() : undefined),
    );
    await cutThem();
    this.counts.looks++;
    this.counts.judged += checker.judged;
    if (isBlind) this.#lookOnceKnown(names, affected);
    if (cut > 0) this.#report(cut, reported, checker.judged, performance.now() - startMs);
  }

  #checker({ ruleset, cluster }: Programmed): ConnectionChecker {
    const { ownAddresses, names } = this.#options;
    return new ConnectionChecker(withKnownNames(ruleset, names), ownAddresses(), this.#localPods(cluster));
  }

  /** Those that are denied still; `count` are those that the kernel still knew. */
  async #cut(denied: readonly Connection[], checkedBy: Programmed) {
    const of = await this.#stillDenied(denied, checkedBy);
    const count = of.length === 0 ? 0 : await this.#options.conntrack.delete(of);
    this.counts.cut += count;
    return { of, count };
  }

  /** Whatever a rule by name might have allowed was left alone, for nobody knew yet what pods were told. */
  #lookOnceKnown(names: NamesKnown, affected: AffectedAddresses): void {
    if (this.#closed.signal.aborted) return;
    const isWaiting = this.#blind !== 'nobody';
    const all = merge(this.#blind, affected);
    this.#blind = all instanceof Set && all.size > MOST_BLIND ? 'everybody' : all;
    if (isWaiting) return;
    void names.known().then(() => {
      const blind = this.#blind;
      this.#blind = 'nobody';
      this.#lookAt(blind);
    });
  }

  /** Looked for once, if at all: there are thousands of others. */
  #localPods(cluster: Programmed['cluster']): () => ReadonlySet<Address> {
    let found: ReadonlySet<Address> | undefined;
    return () => {
      found ??= addressesOn(cluster, this.#options.node);
      return found;
    };
  }

  /**
   * Rules may have come to allow it while others were looked at, and a connection may be younger than what is known of
   * the answer that led to it.
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

/** Of a few addresses: a map of all would be made for each line. */
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
