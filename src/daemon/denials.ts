/**
 * Denied connections by name: the packets that the rules hand over, read some twenty times a second, named by what the
 * agent knows, and recorded. Never in the way of the rules: what is denied is denied, whether or not anybody reads.
 */
import type { Log } from '../agent/log.ts';
import { DENIED_CHAIN, DENIED_GROUP, DENIED_HEAD_BYTES, type DenialLimits } from '../compiler/denied.ts';
import type { Denial } from '../denials/denial.ts';
import { connectionText, type LogMode, logFields, Sampler } from '../denials/lines.ts';
import type { ModelView } from '../denials/modelview.ts';
import { Recorder } from '../denials/recorder.ts';
import type { DenialsFacts } from '../health/denialscheck.ts';
import { LogSocket } from '../netlink/nflog/logsocket.ts';
import { readCounters } from '../netlink/nftables/counters.ts';
import { RunningTotals } from './runningtotals.ts';

export interface DenialsOptions {
  /** Undefined where nothing is handed over. */
  readonly limits: DenialLimits | undefined;
  /** Why nothing is, although it was asked for. */
  readonly impossible?: string | undefined;
  readonly logs: LogMode;
  readonly view: ModelView;
  readonly log: Log;
}

const EVERY_MS = 40;
/** A flood is read in turns, between which everybody else has one. */
const MOST_AT_ONCE = 64;
const AT_ONCE = 32;
const WITHIN_MS = 20;
const RETRY_MS = 10_000;

export class Denials {
  readonly #options: DenialsOptions;
  readonly #recorder: Recorder;
  readonly #sampler = new Sampler();
  readonly #totals = new RunningTotals(() => readCounters(DENIED_CHAIN));
  readonly #sinceMs = Date.now();
  #socket: LogSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #error: string | undefined;

  constructor(options: DenialsOptions) {
    this.#options = options;
    this.#recorder = new Recorder({ view: options.view });
  }

  /** In the network namespace of this thread. Never throws. */
  start(): void {
    if (this.#options.limits === undefined) return;
    this.#open();
  }

  close(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#timer);
    this.#socket?.close();
    this.#socket = undefined;
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
    const { limits, impossible } = this.#options;
    const [denied = 0, handed = 0] = await this.#totals.read();
    const { read, lost, garbled } = this.#socket?.counts ?? NO_COUNTS;
    const error = this.#error ?? impossible;
    return {
      sinceMs: this.#sinceMs,
      ...(limits !== undefined && { limits }),
      ...(error !== undefined && { error }),
      denied,
      handed,
      attempts: this.#recorder.journal.total,
      read,
      lost: lost + garbled,
    };
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
      this.#timer = setInterval(() => this.#read(), EVERY_MS).unref();
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #read(): void {
    try {
      this.#socket?.read(MOST_AT_ONCE, ({ bytes, hook, iif, dialled }) => {
        const packet = { bytes, hook, ...(iif !== undefined && { iif }), ...(dialled && { dialled }) };
        const denial = this.#recorder.take(packet, Date.now());
        if (denial !== undefined) this.#report(denial);
      });
    } catch (error) {
      this.#failed(error as Error);
    }
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

const NO_COUNTS = { read: 0, lost: 0, garbled: 0 };
