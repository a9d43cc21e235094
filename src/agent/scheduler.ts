/**
 * Decides when the loop does its next round: at once where something is pending and the budget has room, within a
 * tenth of a second where it has none, and from time to time although nothing happened.
 */
import type { Timing } from '../lib/async/timing.ts';
import { type Rate, TokenBucket } from '../lib/fairness/rates.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import type { RoundCause } from './committed.ts';
import type { ReadMode } from './kernelstate.ts';

const NO_WAIT_TO_END = () => {};

export class Scheduler {
  readonly #timing: Timing;
  readonly #dumpIntervalMs: number;
  readonly #bucket = new TokenBucket(COMMIT_LIMITS);
  #retry: Situation['retry'];
  #pending: WaitingChange | undefined;
  #deferred: WaitingChange | undefined;
  #dumpRequested = false;
  #lookAtMs = 0;
  #dumpedMs: number;
  #wake = NO_WAIT_TO_END;

  /** The programmed rules are verified every `dumpIntervalMs`, also if no event arrives. */
  constructor(timing: Timing, dumpIntervalMs: number) {
    this.#timing = timing;
    this.#dumpIntervalMs = dumpIntervalMs;
    this.#dumpedMs = timing.now();
    this.#retry = { cause: 'start', atMs: timing.now() };
  }

  /** A change is pending; a pod's start waits for an urgent one. */
  pending(urgent: boolean): void {
    const atMs = this.#pending?.atMs ?? this.#timing.now();
    const priority = urgent ? 'urgent' : (this.#pending?.priority ?? 'normal');
    this.#pending = { atMs, sinceMs: atMs, priority };
    this.#wake();
  }

  /** The changes that wait for their turn, if there are any. */
  defer(waiting: WaitingChange | undefined): void {
    this.#deferred = waiting;
    this.#wake();
  }

  /** The kernel is dumped as soon as possible. */
  requestDump(): void {
    this.#dumpRequested = true;
    this.#wake();
  }

  /** Waits for the next round; returns its cause, or undefined after the signal. */
  async next(signal: AbortSignal): Promise<RoundCause | undefined> {
    while (!signal.aborted) {
      const decision = decide(this.#situation());
      if (decision.kind === 'start') return decision.cause;
      await this.#sleep(decision.ms, signal);
    }
    return undefined;
  }

  /** All pending changes are in the batch that is made now. */
  taken(): void {
    this.#pending = undefined;
  }

  /** A round begins; returns how it has to read the actual state. */
  begin(cause: RoundCause): ReadMode {
    this.#retry = undefined;
    const nowMs = this.#timing.now();
    if (nowMs < this.#dumpAtMs) return cause === 'change' ? 'known' : 'cached';
    // Reset before the dump, so that a request during it is not lost.
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

  /** A round failed: the next attempt is made after that time, and no event makes it earlier. */
  retry(cause: RoundCause, afterMs: number): void {
    this.#retry = { cause, atMs: this.#timing.now() + afterMs };
  }

  get #dumpAtMs(): number {
    return this.#dumpRequested ? Number.NEGATIVE_INFINITY : this.#dumpedMs + this.#dumpIntervalMs;
  }

  #situation(): Situation {
    const nowMs = this.#timing.now();
    const waiting: WaitingChange[] = [];
    if (this.#pending !== undefined) waiting.push(this.#pending);
    if (this.#deferred !== undefined) waiting.push(this.#deferred);
    return {
      nowMs,
      ...(this.#retry !== undefined && { retry: this.#retry }),
      waiting,
      lookAtMs: Math.min(this.#lookAtMs, this.#dumpAtMs),
      level: this.#bucket.level(nowMs),
      limits: COMMIT_LIMITS,
    };
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const wake = () => waiting.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake);
    await this.#timing.sleep(ms, waiting.signal);
    signal.removeEventListener('abort', wake);
    this.#wake = NO_WAIT_TO_END; // no abort, which makes an error that costs more than the rest of a look
  }
}

// When the next round of the loop begins, and why: pure, so that every case is a line of a test.

/** A change that is to be committed. */
export interface WaitingChange {
  /** The earliest time at which other changes of its kind let it go. */
  readonly atMs: number;
  /** The time since which it has been able to go. */
  readonly sinceMs: number;
  readonly priority: Priority;
}

export interface Situation {
  readonly nowMs: number;
  /** The round that failed and is to be tried again, and when. */
  readonly retry?: { readonly cause: RoundCause; readonly atMs: number };
  readonly waiting: readonly WaitingChange[];
  /** When the kernel is to be verified although nothing is pending. */
  readonly lookAtMs: number;
  /** Tokens in the budget of commits. */
  readonly level: number;
  readonly limits: CommitLimits;
}

export type RoundDecision =
  | { readonly kind: 'start'; readonly cause: RoundCause }
  | { readonly kind: 'wait'; readonly ms: number };

export function decide(situation: Situation): RoundDecision {
  const { nowMs, retry, lookAtMs, waiting, level, limits } = situation;
  if (retry !== undefined) return startOrWait(retry.cause, retry.atMs - nowMs);
  let readyInMs: number | undefined;
  let nextMs = lookAtMs;
  for (const { atMs, sinceMs, priority } of waiting) {
    nextMs = Math.min(nextMs, atMs);
    if (atMs > nowMs) continue;
    const ms = waitMs(level, priority, nowMs - sinceMs, limits);
    readyInMs = Math.min(readyInMs ?? ms, ms);
  }
  if (readyInMs !== undefined) return startOrWait('change', readyInMs);
  if (nowMs < nextMs) return { kind: 'wait', ms: nextMs - nowMs };
  return startOrWait('look', waitMs(level, 'normal', nowMs - lookAtMs, limits));
}

function startOrWait(cause: RoundCause, ms: number): RoundDecision {
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'start', cause };
}

// A budget of commits. At more than about ten a second, sustained, no other process of the node can list the ruleset
// any more (measured: their dump restarts whenever the generation moves), so bursts are served at once and then
// the rate is held.
//
//     level  5 ┬ a commit costs 1, ten come back each second
//            0 ┼ below it, only urgent changes go at once, and what has waited for long
//           -5 ┼ below it, only policies that tighten, of namespaces that have done so seldom
//          -10 ┴ below it nothing goes: so there is never a debt of more than a second
//
// A commit takes everything along that is pending, so that changes that may go further starve no others.

/**
 * How far a change may exceed the budget of commits: not at all, as far as a starting pod may, or as far as a change
 * that tightens may.
 */
export type Priority = 'normal' | 'urgent' | 'tightening';

interface CommitLimits extends Rate {
  /** Commits beyond the burst that changes may have in advance. */
  readonly reserve: Readonly<Record<Priority, number>>;
  /** Changes that have waited this long are treated as urgent. */
  readonly mostWaitMs: number;
}

export const COMMIT_LIMITS: CommitLimits = {
  burst: 5,
  perSecond: 10,
  reserve: { normal: 0, urgent: 5, tightening: 10 },
  mostWaitMs: 100,
};

/** For how many milliseconds a commit must wait, of changes of which the oldest is `ageMs` old. */
export function waitMs(level: number, priority: Priority, ageMs: number, limits: CommitLimits): number {
  const { perSecond, reserve, mostWaitMs } = limits;
  const untilMs = (as: Priority) => Math.max(0, ((1 - reserve[as] - level) / perSecond) * 1000);
  return Math.min(untilMs(priority), Math.max(untilMs('urgent'), mostWaitMs - ageMs));
}

/**
 * The changes that one round takes. Policies are taken once, however often the batch is recomputed because other
 * processes write meanwhile.
 */
export class BatchScope {
  /** The first batch of the agent: no policy waits for its turn. */
  readonly isFirst: boolean;
  /**
   * Whether the batch has only hooks and unknown pods: on a fresh kernel these are committed first, apart from all
   * policies.
   */
  isBase = false;
  #taken = false;

  constructor(isFirst: boolean) {
    this.isFirst = isFirst;
  }

  takesPolicies(actual: Ruleset, noneWait: boolean): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    this.isBase = this.isFirst && actual.tables.size === 0 && !noneWait;
    return !this.isBase;
  }
}
