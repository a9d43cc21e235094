/**
 * Live connections follow policy: after a commit that may deny what was allowed, those of the pods that it concerns are
 * read and judged like new ones (N38); the kernel is made to forget the denied ones, and the guard
 * (compiler/midstreamguard.ts) keeps them from coming back. One look is under way at a time; what commits meanwhile ask
 * for is looked at together, in the next one.
 *
 *     commit ──affected──▶ pending ──▶ look ──▶ cut
 *                             ▲
 *                             └── a second later, once more
 *
 * The second look is for a first packet that was on its way while the rules changed: the old ones let it pass, and the
 * kernel begins to track it when the first look is over. Connections that nobody has answered yet are judged like the
 * others. What their opener sends is new to the rules and dropped; but an answer, whenever it comes, would be taken for
 * the reply of a known connection, and from then on everything passes.
 */
import { sleep } from '../../async/sleep.ts';
import type { Address } from '../../model/address.ts';
import { isSelectable } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import type { Committed } from '../committed.ts';
import type { Log } from '../log.ts';
import { ConnectionChecker } from './connectionchecker.ts';
import { cutText } from './cutreport.ts';
import { DeniedConnections } from './deniedconnections.ts';
import { type NamesKnown, withKnownNames } from './knownnames.ts';
import { PendingLooks } from './pendinglooks.ts';
import { type AffectedAddresses, affectedAddresses, merge } from './tightening.ts';

/** What it needs to know of a commit. */
export type Programmed = Pick<Committed, 'cluster' | 'ruleset' | 'ops' | 'unknownBefore'>;

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
/** A rest is as long as the look before it, so that whoever asks for looks all the time leaves others half of it. */
const LONGEST_REST_MS = 500;
/** What is denied beyond them is for another look (deniedconnections.ts). */
const MOST_AT_ONCE = 10_000;
/** Where it is never known what pods were told, these would only ever become more. */
const MOST_BLIND = 4_096;

export class LiveConnections {
  readonly #options: LiveConnectionsOptions & { readonly againMs: number };
  /** Since the agent started. */
  readonly counts: CutCounts = { looks: 0, judged: 0, cut: 0 };
  readonly #pending = new PendingLooks();
  /** Looked at before anybody knew what pods were told. */
  #blind: AffectedAddresses = 'nobody';
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #closed = new AbortController();
  /** Ends the rest between two looks. */
  #goOn = new AbortController();
  #last: Programmed | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: LiveConnectionsOptions) {
    this.#options = { againMs: AGAIN_MS, ...options };
  }

  /** Never waits. */
  follow(programmed: Programmed): void {
    const before = programmed.unknownBefore ? undefined : this.#last?.ruleset;
    const isFirst = this.#last === undefined;
    this.#last = programmed;
    const affected = isFirst ? 'everybody' : affectedAddresses(before, programmed.ruleset, programmed.ops);
    if (affected === 'nobody') return;
    this.#lookAt(affected);
    this.#lookLater(affected, this.#options.againMs);
  }

  /** Waits until all that was followed has been looked at, once. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  close(): void {
    this.#closed.abort();
    this.#pending.clear();
    this.#blind = 'nobody';
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.conntrack.close();
  }

  #lookAt(affected: AffectedAddresses): void {
    if (this.#closed.signal.aborted) return;
    this.#pending.add(affected);
    if (this.#pending.isUrgent) this.#goOn.abort();
    this.#looking ??= this.#lookUntilDone();
  }

  #lookLater(affected: AffectedAddresses, ms: number): void {
    if (this.#closed.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#lookAt(affected);
    }, ms);
    this.#timers.add(timer.unref());
  }

  async #lookUntilDone(): Promise<void> {
    try {
      while (!this.#pending.isEmpty) {
        const startMs = performance.now();
        await this.#look(this.#pending.take(), this.#last!);
        await this.#rest(performance.now() - startMs);
      }
    } catch (error) {
      this.#retry(error as Error);
    } finally {
      this.#looking = undefined;
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#pending.isEmpty || this.#pending.isUrgent) return;
    this.#goOn = new AbortController();
    const signal = AbortSignal.any([this.#goOn.signal, this.#closed.signal]);
    await sleep(Math.min(ms, LONGEST_REST_MS), signal);
  }

  /** What is denied must not stay open because nothing happens. */
  #retry(error: Error): void {
    if (this.#closed.signal.aborted) return;
    this.#pending.clear();
    this.#pending.add('everybody'); // with the next commit, or by ourselves
    this.#lookLater('everybody', RETRY_MS);
    const fields = { error, retryMs: RETRY_MS };
    this.#options.log.error(fields, `live connections could not be judged: ${error.message}`);
  }

  async #look(affected: AffectedAddresses, programmed: Programmed): Promise<void> {
    if (affected === 'nobody') return;
    const startMs = performance.now();
    const { conntrack, ownAddresses, names } = this.#options;
    const isBlind = names !== undefined && names.subjects.sets.length > 0 && names.facts === undefined;
    const checkerNow = () =>
      new ConnectionChecker(
        withKnownNames(programmed.ruleset, this.#options.names),
        ownAddresses(),
        this.#localPods(programmed),
      );
    const checker = checkerNow();
    const about = affected === 'everybody' ? 'all' : [...affected];
    const found = await deniedAmong(conntrack, about, checker);
    const denied = await this.#stillDenied(found.all, checkerNow);
    const cut = denied.length === 0 ? 0 : await conntrack.delete(denied);
    this.counts.looks++;
    this.counts.judged += checker.judged;
    this.counts.cut += cut;
    if (found.isPartial) this.#pending.add(affected);
    if (isBlind) this.#lookOnceKnown(names, affected);
    if (cut > 0) this.#report(cut, denied, checker.judged, performance.now() - startMs);
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
  #localPods({ cluster }: Programmed): () => ReadonlySet<Address> {
    let found: ReadonlySet<Address> | undefined;
    return () => {
      found ??= addressesOn(cluster, this.#options.node);
      return found;
    };
  }

  /** A connection may be younger than what is known of the answer that led to it. */
  async #stillDenied(denied: Connection[], checkerNow: () => ConnectionChecker): Promise<Connection[]> {
    const { names } = this.#options;
    if (denied.length === 0 || names === undefined || names.subjects.sets.length === 0) return denied;
    await names.synced();
    const checker = checkerNow();
    return denied.filter(({ flow }) => checker.denies(flow));
  }

  #report(cut: number, denied: readonly Connection[], judged: number, tookMs: number): void {
    const fields = { cut, judged, tookMs: Math.round(tookMs) };
    this.#options.log.info(fields, cutText(cut, denied, this.#last!.cluster));
  }
}

async function deniedAmong(
  conntrack: Conntrack,
  about: readonly Address[] | 'all',
  checker: ConnectionChecker,
): Promise<DeniedConnections> {
  const denied = new DeniedConnections(MOST_AT_ONCE);
  let pod: Address | undefined;
  const isWanted = (flow: Flow) => {
    pod = checker.deniedTo(flow);
    return pod !== undefined && denied.hasRoomFor(pod);
  };
  // Each is visited before the next one is asked about.
  await conntrack.read(about, isWanted, connection => denied.add(pod!, connection));
  return denied;
}

function addressesOn({ pods }: Programmed['cluster'], node: string | undefined): ReadonlySet<Address> {
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  return new Set(local.flatMap(({ addresses }) => addresses));
}
