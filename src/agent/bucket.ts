/**
 * A budget of commits. At more than about ten a second, sustained, nobody else on the node can list the ruleset
 * any more (measured: their dump restarts whenever the generation moves), so bursts are served at once and then
 * the rate is held.
 *
 *     level  5 ┬ a commit costs 1, ten come back each second
 *            0 ┼ below it, only what somebody waits for goes at once, and what has waited for long
 *           -5 ┴ below it nothing goes: so there is never a debt of more than half a second
 */
export interface BucketLimits {
  /** Commits that may follow one another at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Commits beyond the burst that urgent changes may have in advance. */
  readonly reserve: number;
  /** What has waited for so long goes like what is urgent. */
  readonly mostWaitMs: number;
}

export const COMMIT_LIMITS: BucketLimits = { burst: 5, perSecond: 10, reserve: 5, mostWaitMs: 100 };

export class TokenBucket {
  readonly limits: BucketLimits;
  #level: number;
  #atMs: number;

  constructor(limits: BucketLimits, nowMs: number) {
    this.limits = limits;
    this.#level = limits.burst;
    this.#atMs = nowMs;
  }

  level(nowMs: number): number {
    const { burst, perSecond } = this.limits;
    this.#level = Math.min(burst, this.#level + ((nowMs - this.#atMs) / 1000) * perSecond);
    this.#atMs = nowMs;
    return this.#level;
  }

  /** For a commit that was made. */
  take(nowMs: number): void {
    this.#level = this.level(nowMs) - 1;
  }
}

/** For how many milliseconds a commit must wait, of changes of which the oldest is `ageMs` old. */
export function waitMs(level: number, urgent: boolean, ageMs: number, limits: BucketLimits): number {
  const { perSecond, reserve, mostWaitMs } = limits;
  const untilMs = (least: number) => Math.max(0, ((least - level) / perSecond) * 1000);
  const inAdvanceMs = untilMs(1 - reserve);
  return urgent ? inAdvanceMs : Math.min(untilMs(1), Math.max(inAdvanceMs, mostWaitMs - ageMs));
}
