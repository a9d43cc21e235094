/**
 * Reads the DNS answers of pods, while any of the node's pods has a rule by name: in a thread of its own, begun with the
 * first commit that has such a pod, and begun again if it ends. No commit ever waits for it.
 */

import { readFileSync } from 'node:fs';
import type { Committed } from '../../agent/committed.ts';
import type { NamesKnown } from '../../agent/connections/knownnames.ts';
import { openByName, programmedBefore } from '../../agent/connections/openbyname.ts';
import type { Log } from '../../agent/log.ts';
import type { DnsFacts } from '../../api/health/namescheck.ts';
import type { DnsTotals } from '../../api/rpc/namesmetrics.ts';
import { type DnsQueue, NAMES_PODS, resolverPorts } from '../../compiler/namespeers.ts';
import { type Backoff, backoffMs } from '../../lib/async/backoff.ts';
import { settledWithin } from '../../lib/async/sleep.ts';
import { type Address, isLoopback, parseAddress } from '../../model/address.ts';
import { QUEUE_NUMBER } from '../../names/control.ts';
import type { DnsCache } from '../../names/dnscache.ts';
import type { Pair, Recovered } from '../../names/leases.ts';
import { type Lifetimes, NAMES_LIMITS } from '../../names/leasetable.ts';
import { lastingPods, NO_SUBJECTS, type Subjects } from '../../names/subjects.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import type { AnswerThread } from './answerthread.ts';
import { monotonicMs, WAIT_BUCKETS_US } from './messages.ts';

/** Shorter than the patience of a user at a prompt. */
const LATEST_MS = 1_000;
const RETRY: Backoff = { firstMs: 1_000, mostMs: 60_000 };

export interface DnsWatcherOptions {
  /** Undefined where this kernel has no queue. */
  readonly queue: DnsQueue | undefined;
  /** The pods and their rules by name, as of the last flush. */
  readonly subjects: () => Subjects;
  /** Whether a policy of the cluster has rules by name. */
  readonly isNaming: () => boolean;
  readonly lifetimes: Partial<Lifetimes>;
  /** Opened when it is needed first. */
  readonly conntrack: () => Conntrack;
  readonly ownAddresses: () => ReadonlySet<Address>;
  readonly log: Log;
}

export class DnsWatcher implements NamesKnown {
  readonly #options: DnsWatcherOptions;
  #cache: DnsCache | undefined;
  readonly #known = Promise.withResolvers<void>();
  #thread: AnswerThread | undefined;
  #subjects = NO_SUBJECTS;
  #conntrack: Conntrack | undefined;
  /** The pods for which a predecessor has programmed rules by name, and those rules. */
  #before: Before | undefined;
  #starting: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #error: string | undefined;
  /** Failed starts since the thread last ran. */
  #failures = 0;
  #restarts = 0;
  #closed = false;

  constructor(options: DnsWatcherOptions) {
    this.#options = options;
  }

  get subjects(): Subjects {
    return this.#subjects;
  }

  get cache(): DnsCache | undefined {
    return this.#cache;
  }

  known(): Promise<void> {
    return this.#known.promise;
  }

  async synced(): Promise<void> {
    await this.#starting;
    await this.#thread?.synced();
  }

  /** With all answers until now; where the thread does not respond in time, with those that it has reported. */
  async latest(): Promise<DnsCache | undefined> {
    await settledWithin(LATEST_MS, this.synced());
    return this.#cache;
  }

  /** The facts for the check `names`. */
  status(): DnsFacts {
    const { queue } = this.#options;
    const counts = this.#thread?.counts;
    const silentMs = counts && this.#thread?.silentMs();
    return {
      pods: this.#subjects.pods.length,
      isNaming: this.#options.isNaming(),
      canWait: queue !== undefined,
      resolvers: queue?.resolvers ?? [],
      most: NAMES_LIMITS.perNode,
      ...(this.#error !== undefined && counts === undefined && { error: this.#error }),
      ...(counts !== undefined && { counts }),
      ...(silentMs !== undefined && { silentMs }),
    };
  }

  /** The counts of the thread that runs now, and how many threads ended before it. */
  totals(): DnsTotals {
    const counts = this.#thread?.counts;
    return { restarts: this.#restarts, waitBucketsUs: WAIT_BUCKETS_US, ...(counts && { counts }) };
  }

  /** The rules are in force: from now on the answers of their pods are read. Never waits. */
  committed({ ops, ruleset }: Pick<Committed, 'ops' | 'ruleset'>): void {
    const subjects = this.#options.subjects();
    this.#before ??= takenOver(programmedBefore(subjects, ops, NAMES_PODS), ruleset);
    if (subjects.pods.length === 0 && this.#subjects.pods.length === 0) return;
    const renewed = ops.some(op => op.op === 'addSet' && op.set.dynamic !== undefined);
    if (subjects === this.#subjects && !renewed) return;
    this.#cache?.retainOnly(lastingPods(this.#subjects, subjects));
    this.#subjects = subjects;
    if (this.#thread !== undefined) this.#thread.configure(subjects, renewed);
    else this.#start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#starting;
    await this.#thread?.close();
    this.#conntrack?.close();
  }

  /** Starts the thread where there are pods with rules by name and no thread. */
  #start(): void {
    const { queue } = this.#options;
    if (queue === undefined || !this.#isMissing) return;
    this.#starting ??= this.#open(queue).finally(() => {
      this.#starting = undefined;
      this.#startLater();
    });
  }

  /** Starts the thread later, unless it is being started: a thread may end before its start is over. */
  #startLater(): void {
    clearTimeout(this.#retry);
    if (this.#starting !== undefined || !this.#isMissing) return;
    this.#retry = setTimeout(() => this.#start(), this.#retryMs).unref();
  }

  get #isMissing(): boolean {
    return !this.#closed && this.#thread === undefined && this.#subjects.pods.length > 0;
  }

  get #retryMs(): number {
    return backoffMs(RETRY, this.#failures);
  }

  async #open(queue: DnsQueue): Promise<void> {
    try {
      // Loaded only where a pod has a rule by name: few nodes ever have one.
      const [{ AnswerThread }, { DnsCache }] = await Promise.all([
        import('./answerthread.ts'),
        import('../../names/dnscache.ts'),
      ]);
      const recoveredAtMs = monotonicMs();
      const recovered = await readRecovered();
      if (this.#closed) return;
      const cache = this.#cache ?? new DnsCache();
      const { lifetimes } = this.#options;
      const thread = new AnswerThread(
        { queue: QUEUE_NUMBER, ports: resolverPorts(queue), lifetimes, recovered, recoveredAtMs },
        {
          resolved: records => cache.record(records),
          ending: pairs => void this.#reportInUse(pairs),
          lost: error => this.#lost(error),
        },
      );
      this.#thread = thread;
      thread.configure(this.#subjects, false);
      if (this.#cache === undefined) await this.#takeOverOpen(thread, cache);
      if (this.#thread !== thread) return; // this thread has been replaced and will not report the contents of the sets
      this.#cache = cache;
      this.#known.resolve();
      this.#options.log.info({ recovered: recovered.length }, 'peers by name: reading DNS answers');
    } catch (error) {
      this.#lost((error as Error).message);
    }
  }

  /** Answers are read also where open connections cannot be. */
  async #takeOverOpen(thread: AnswerThread, cache: DnsCache): Promise<void> {
    try {
      await thread.synced(); // the contents of the sets are known now
      const found = await openByName({
        ...this.#before!,
        conntrack: this.#openConntrack(),
        own: this.#options.ownAddresses(),
        cache,
        nowMs: Date.now(),
      });
      cache.record(found);
    } catch (error) {
      const { message } = error as Error;
      this.#options.log.warn({}, `peers by name: open connections are not known: ${message}`);
    }
    if (this.#thread === thread) this.#before = NOTHING_BEFORE;
  }

  /** Pairs that cannot be looked up now are asked for again, until they have ended. */
  async #reportInUse(pairs: readonly Pair[]): Promise<void> {
    try {
      this.#thread?.inUse(await connectedPairs(this.#openConntrack(), pairs));
    } catch (error) {
      const { message } = error as Error;
      if (!this.#closed)
        this.#options.log.warn(
          {},
          `peers by name: addresses in use may end: connections are not known: ${message}`,
        );
    }
  }

  #openConntrack(): Conntrack {
    this.#conntrack ??= this.#options.conntrack();
    return this.#conntrack;
  }

  #lost(error: string): void {
    if (this.#closed) return;
    if (this.#thread?.counts !== undefined) {
      this.#failures = 0;
      this.#error = undefined;
    }
    this.#thread = undefined;
    this.#restarts++;
    this.#failures++;
    if (this.#error !== error)
      this.#options.log.error(
        { retryMs: this.#retryMs },
        `peers by name: DNS answers are not read, and nothing is learnt: ${error}`,
      );
    this.#error = error;
    this.#startLater();
  }
}

type Before = Pick<Parameters<typeof openByName>[0], 'inherited' | 'ruleset'>;

const NOTHING_BEFORE: Before = { inherited: NO_SUBJECTS, ruleset: { tables: new Map() } };

/** Keeps no rules of the first commit where no pod needs them. */
function takenOver(inherited: Subjects, ruleset: Before['ruleset']): Before {
  return inherited.pods.length === 0 ? NOTHING_BEFORE : { inherited, ruleset };
}

/** The programmed elements of sets that still exist, as pairs. */
async function readRecovered(): Promise<Recovered[]> {
  const { readNamesElements } = await import('../../kernel/netlink/nftables/read-ruleset.ts');
  const sets = await readNamesElements();
  return sets.flatMap(set =>
    [...set.elements].flatMap(([key, { leftMs = 0 }]) => {
      const [pod, peer] = key.split(' . ') as Address[];
      return peer === undefined || pod === undefined ? [] : [{ set: set.name, pod, peer, leftMs }];
    }),
  );
}

// Which addresses from DNS answers have open connections with their pods.

/** An unanswered TCP connection does not count; in other protocols one end may be silent. */
export async function connectedPairs(conntrack: Conntrack, pairs: readonly Pair[]): Promise<Pair[]> {
  const asked = new Map(pairs.map(pair => [keyOf(pair.pod, pair.peer), pair]));
  const found = new Set<Pair>();
  await conntrack.read(
    [...new Set(pairs.map(({ pod }) => pod))],
    ({ from, to }) => asked.has(keyOf(from, to)),
    ({ flow: { from, to, protocol }, unreplied }) => {
      if (protocol !== 'TCP' || unreplied !== true) found.add(asked.get(keyOf(from, to))!);
    },
  );
  return [...found];
}

function keyOf(pod: Address, peer: Address): string {
  return `${pod} ${peer}`;
}

// The resolvers that the node's pods ask: those that the kubelet gives to pods and to us, and those of the options.

/** The `nameserver` lines of resolv.conf(5); a resolver on loopback is no pod's. */
export function resolversIn(resolvConf: string): Address[] {
  return resolvConf.split('\n').flatMap(line => {
    const [word, text = ''] = line.trim().split(/\s+/);
    const address = word === 'nameserver' ? parseAddress(text) : undefined;
    return address === undefined || isLoopback(address) ? [] : [address];
  });
}

/** None where the file cannot be read: then `named` are all there are. */
export function readResolvers(named: readonly Address[], file = '/etc/resolv.conf'): readonly Address[] {
  return [...new Set([...named, ...resolversIn(contentOf(file))])].sort();
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
