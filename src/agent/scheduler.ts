/**
 * Decides when the loop does its next round: at once where something is pending and the budget has room, within a
 * tenth of a second where it has none, and from time to time although nothing happened.
 */
import type { Timing } from '../lib/async/timing.ts';
import { TokenBucket } from '../lib/fairness/tokenbucket.ts';
import { COMMIT_LIMITS } from './commitbudget.ts';
import type { RoundCause } from './committed.ts';
import { decide, type Situation, type WaitingChange } from './decision.ts';
import type { Look } from './kernelstate.ts';

const NOBODY = () => {};

export class Scheduler {
  readonly #timing: Timing;
  readonly #dumpIntervalMs: number;
  readonly #bucket = new TokenBucket(COMMIT_LIMITS);
  #retry: Situation['retry'];
  #pendingSinceMs: number | undefined;
  #deferred: WaitingChange | undefined;
  #urgent = false;
  #dumpRequested = false;
  #lookAtMs = 0;
  #dumpedMs: number;
  #wake = NOBODY;

  /** What is programmed is verified every `dumpIntervalMs` although nothing happened. */
  constructor(timing: Timing, dumpIntervalMs: number) {
    this.#timing = timing;
    this.#dumpIntervalMs = dumpIntervalMs;
    this.#dumpedMs = timing.now();
    this.#retry = { cause: 'start', atMs: timing.now() };
  }

  /** A change is pending; somebody waits for what is urgent. */
  noted(urgent: boolean): void {
    this.#pendingSinceMs ??= this.#timing.now();
    this.#urgent ||= urgent;
    this.#wake();
  }

  /** What waits for its turn, if anything does. */
  defer(waiting: WaitingChange | undefined): void {
    this.#deferred = waiting;
    this.#wake();
  }

  /** The kernel is dumped as soon as possible. */
  requestDump(): void {
    this.#dumpRequested = true;
    this.#wake();
  }

  /** Waits for the next round; answers why it begins, or nothing after the signal. */
  async next(signal: AbortSignal): Promise<RoundCause | undefined> {
    while (!signal.aborted) {
      const decision = decide(this.#situation());
      if (decision.kind === 'start') return decision.cause;
      await this.#sleep(decision.ms, signal);
    }
    return undefined;
  }

  /** All that is pending is in the batch that is made now. */
  taken(): void {
    this.#pendingSinceMs = undefined;
    this.#urgent = false;
  }

  /** A round begins; answers what it has to take for the actual state. */
  begin(): Look {
    this.#retry = undefined;
    const nowMs = this.#timing.now();
    if (nowMs < this.#dumpAtMs) return 'cached';
    // Before the dump, so that one that is asked for meanwhile is not forgotten.
    const look = this.#dumpRequested ? 'dump' : 'verified';
    this.#dumpedMs = nowMs;
    this.#dumpRequested = false;
    return look;
  }

  /** A round ended well, and is followed by another look after that time. */
  done(committed: boolean, lookIntervalMs: number): void {
    const nowMs = this.#timing.now();
    if (committed) this.#bucket.take(nowMs);
    this.#lookAtMs = nowMs + lookIntervalMs;
  }

  /** A round failed, and is tried again after that time, whatever happens meanwhile. */
  retry(cause: RoundCause, afterMs: number): void {
    this.#retry = { cause, atMs: this.#timing.now() + afterMs };
  }

  get #dumpAtMs(): number {
    return this.#dumpRequested ? Number.NEGATIVE_INFINITY : this.#dumpedMs + this.#dumpIntervalMs;
  }

  #situation(): Situation {
    const nowMs = this.#timing.now();
    return {
      nowMs,
      ...(this.#retry !== undefined && { retry: this.#retry }),
      waiting: [this.#pending, this.#deferred].filter(change => change !== undefined),
      lookAtMs: Math.min(this.#lookAtMs, this.#dumpAtMs),
      level: this.#bucket.level(nowMs),
      limits: COMMIT_LIMITS,
    };
  }

  get #pending(): WaitingChange | undefined {
    const sinceMs = this.#pendingSinceMs;
    if (sinceMs === undefined) return undefined;
    return { atMs: sinceMs, sinceMs, haste: this.#urgent ? 'urgent' : 'none' };
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const wake = () => waiting.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake);
    await this.#timing.sleep(ms, waiting.signal);
    signal.removeEventListener('abort', wake);
    this.#wake = NOBODY; // to abort makes an error, which costs more than all else of a look
  }
}
