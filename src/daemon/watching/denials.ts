/**
 * Denied connections by name: reads the packets that the rules hand over, about twenty times a second, adds the names
 * that the agent knows, and records them. The rules do not depend on this: a packet is denied whether or not it is read
 * here.
 */

import type { Log } from '../../agent/log.ts';
import type { DenialsFacts, ServicesFacts } from '../../api/health/agentchecks.ts';
import {
  DENIED_CHAIN,
  DENIED_GROUP,
  DENIED_HEAD_BYTES,
  type DenialLimits,
  LIMITED_CHAIN,
  LINK_CHAIN,
  LINK_PREFIX,
} from '../../compiler/denied.ts';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';
import { type LogCounts, LogSocket } from '../../kernel/netlink/nflog/logsocket.ts';
import type { LoggedPacket } from '../../kernel/netlink/nflog/messages.ts';
import { readCounters } from '../../kernel/netlink/nftables/rulecounts.ts';
import { ClusterState, type ResolvedNames } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Service, ServiceKey } from '../../model/service.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { DenialRecorder } from '../../observe/denials/journal.ts';
import { connectionText, type LogMode, logFields, Sampler } from '../../observe/denials/lines.ts';
import { ModelView } from '../../observe/denials/modelview.ts';
import { ServiceNames, type ServiceOf } from '../../observe/denials/servicenames.ts';

export interface DenialsOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  /** Undefined where nothing is to be handed over. */
  readonly limits: DenialLimits | undefined;
  /** Whether this kernel can hand packets over. */
  readonly isPossible: boolean;
  readonly logs: LogMode;
  readonly resolved: () => ResolvedNames | undefined;
  readonly log: Log;
}

/** Denied, and handed over, by source and by link. */
async function countersOfDenials(): Promise<number[]> {
  const [all = 0] = await readCounters(DENIED_CHAIN);
  const [handed = 0] = await readCounters(LIMITED_CHAIN);
  const [byLink = 0, handedByLink = 0] = await readCounters(LINK_CHAIN);
  return [all, handed, byLink, handedByLink];
}

const EVERY_MS = 40;
/** While packets come as fast as the limits let them: to wake up costs more than to name what is there. */
const BUSY_EVERY_MS = 160;
/** So many packets in one turn count as busy: two are normal, because a name is looked up in both families. */
const BUSY = 3;
/** A flood of packets is read in portions, so that the rest of the agent gets its turn in between. */
const MOST_AT_ONCE = 64;
const AT_ONCE = 32;
const WITHIN_MS = 20;
const RETRY_MS = 10_000;

export class Denials {
  /** Absent where denials are not named. */
  readonly services: KnownServices | undefined;
  readonly #options: DenialsOptions;
  /** The cluster as the agent knows it, in the form that the reference reads. */
  readonly view: ModelView;
  readonly #recorder: DenialRecorder;
  readonly #sampler = new Sampler();
  readonly #totals = new RunningTotals(countersOfDenials);
  readonly #sinceMs = Date.now();
  #socket: LogSocket | undefined;
  /** The counts of earlier sockets. */
  #before: LogCounts = { read: 0, lost: 0, garbled: 0 };
  /** Packets that had no name for a fault of ours, and the latest fault. */
  #unnamed = 0;
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #error: string | undefined;

  constructor(options: DenialsOptions) {
    this.#options = options;
    const { node, unknownPods, resolved } = options;
    const now = () => performance.now();
    this.view = new ModelView(new ClusterState(), { node, unknownPods, resolved, now });
    this.services = this.#limits && new KnownServices(options.log);
    this.#recorder = new DenialRecorder({
      view: this.view,
      ...(this.services && { serviceOf: this.services.of }),
    });
  }

  /** Opens the socket in the network namespace of this thread. Never throws. */
  start(): void {
    void this.#totals.read(); // counts from here on belong to this agent
    if (this.#limits !== undefined) this.#open();
  }

  get #limits(): DenialLimits | undefined {
    return this.#options.isPossible ? this.#options.limits : undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#before = this.#counts;
    this.#socket?.close();
    this.#socket = undefined;
  }

  get #counts(): LogCounts {
    const { read, lost, garbled } = this.#before;
    const now = this.#socket?.counts;
    if (now === undefined) return this.#before;
    return { read: read + now.read, lost: lost + now.lost, garbled: garbled + now.garbled };
  }

  /** The oldest first. */
  denials(): Denial[] {
    return this.#recorder.journal.denials();
  }

  follow(follower: (denial: Denial) => void): () => void {
    return this.#recorder.journal.follow(follower);
  }

  /** Counts since the agent started. */
  async facts(): Promise<DenialsFacts> {
    const { limits, isPossible } = this.#options;
    const [bySource = 0, handed = 0, byLink = 0, handedByLink = 0] = await this.#totals.read();
    const { read, lost, garbled } = this.#counts;
    const error = limits !== undefined && !isPossible ? IMPOSSIBLE : this.#error;
    return {
      sinceMs: this.#sinceMs,
      ...(limits !== undefined && { limits }),
      ...(error !== undefined && { error }),
      ...(this.services && { services: this.#servicesFacts(this.services.facts) }),
      denied: bySource + byLink,
      handed: handed + handedByLink,
      attempts: this.#recorder.journal.total,
      read,
      lost: lost + garbled + this.#recorder.unread + this.#unnamed,
    };
  }

  #servicesFacts(facts: ServicesFacts): ServicesFacts {
    const isUntold = this.#socket !== undefined && !this.#socket.tellsDialled;
    return isUntold && facts.problem === undefined ? { ...facts, problem: NOT_DIALLED } : facts;
  }

  #open(): void {
    try {
      this.#socket = LogSocket.open({
        group: DENIED_GROUP,
        copyBytes: DENIED_HEAD_BYTES,
        atOnce: AT_ONCE,
        withinMs: WITHIN_MS,
      });
      this.#error = undefined;
      this.#readIn(EVERY_MS);
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #readIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const before = this.#counts.read;
      this.#read();
      const isBusy = this.#counts.read - before >= BUSY;
      if (this.#socket !== undefined) this.#readIn(isBusy ? BUSY_EVERY_MS : EVERY_MS);
    }, ms).unref();
  }

  #read(): void {
    try {
      this.#socket?.read(MOST_AT_ONCE, packet => this.#take(packet));
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  /** A packet that cannot be named keeps no other from its name. */
  #take({ bytes, prefix, hook, iif, dialled }: LoggedPacket): void {
    const isOfLink = prefix === LINK_PREFIX;
    const packet = { bytes, hook, isOfLink, ...(iif !== undefined && { iif }), ...(dialled && { dialled }) };
    try {
      const denial = this.#recorder.take(packet, Date.now());
      if (denial !== undefined) this.#report(denial);
    } catch (error) {
      this.#unnamed++;
      this.#reportFault((error as Error).message);
    }
  }

  /** Reports a fault once, however many packets it affects. */
  #reportFault(message: string): void {
    if (message === this.#fault) return;
    this.#fault = message;
    this.#options.log.warn({}, `a denied connection was not named: ${message}`);
  }

  #report(denial: Denial): void {
    const { logs, log } = this.#options;
    if (logs === 'none') return;
    const leftOut = logs === 'all' ? 0 : this.#sampler.take(denial, denial.atMs);
    if (leftOut === undefined) return;
    const fields = { ...logFields(denial), ...(leftOut > 0 && { leftOut }) };
    log.info(fields, `denied: ${connectionText(denial)}: ${denial.cause.reason}`);
  }

  #failed({ message }: Error): void {
    this.close();
    if (message !== this.#error)
      this.#options.log.warn({ retryMs: RETRY_MS }, `denied connections are not named: ${message}`);
    this.#error = message;
    this.#timer = setTimeout(() => this.#open(), RETRY_MS).unref();
  }
}

const NOT_DIALLED =
  'this kernel does not say what was dialled where it was translated (CONFIG_NETFILTER_NETLINK_GLUE_CT)';
const IMPOSSIBLE = 'this kernel hands no packets over (nft_log, nft_limit, nfnetlink_log)';

/** Counters of the kernel as totals that only rise: a rule that is made anew counts from zero. */

/** Many may ask at the same time; the kernel is asked at most this often. */
const FRESH_MS = 500;

export class RunningTotals {
  readonly #readCounters: () => Promise<readonly number[]>;
  #last: readonly number[] | undefined;
  readonly #totals: number[] = [];
  #reading: Promise<void> | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(readCounters: () => Promise<readonly number[]>) {
    this.#readCounters = readCounters;
  }

  /** Since the first call, since earlier counts belong to a previous agent. What cannot be read counts as unchanged. */
  async read(): Promise<readonly number[]> {
    if (performance.now() - this.#readMs > FRESH_MS)
      this.#reading ??= this.#look().finally(() => {
        this.#reading = undefined;
      });
    await this.#reading;
    return [...this.#totals];
  }

  async #look(): Promise<void> {
    const counters = await this.#readCounters().catch(() => undefined);
    this.#readMs = performance.now();
    if (counters === undefined) return;
    const before = this.#last ?? counters;
    counters.forEach((count, i) => {
      this.#totals[i] = (this.#totals[i] ?? 0) + risen(before[i] ?? 0, count);
    });
    this.#last = counters;
  }
}

function risen(before: number, now: number): number {
  return now >= before ? now - before : now;
}

// The Services that name denials, and why they are missing where they are.

export class KnownServices {
  readonly #names = new ServiceNames();
  readonly #log: Log;
  #problem: string | undefined = 'they have not been read yet';

  constructor(log: Log) {
    this.#log = log;
  }

  readonly of: ServiceOf = dialled => this.#names.of(dialled);

  get facts(): ServicesFacts {
    const problem = this.#problem ?? (this.#names.isFull ? TOO_MANY : undefined);
    return { known: this.#names.size, ...(problem !== undefined && { problem }) };
  }

  put(service: Service): void {
    this.#names.put(service);
  }

  delete(key: ServiceKey): void {
    this.#names.delete(key);
  }

  keys(): Iterable<ServiceKey> {
    return this.#names.keys();
  }

  onSource({ state, reason }: SourceStatus): void {
    const isKnown = state === 'synced' || state === 'recovered';
    this.#problem = isKnown ? undefined : (reason ?? 'there are none to be read');
    if (state === 'lost')
      this.#log.warn({}, `Services: cannot be read, denials are named by those last known; ${reason}`);
    if (state === 'recovered') this.#log.info({}, 'Services: can be read again');
  }
}

const TOO_MANY = 'there are more of them than are kept';
