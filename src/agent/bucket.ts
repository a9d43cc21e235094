/**
 * A budget of commits. At more than about ten a second, sustained, nobody else on the node can list the ruleset
 * any more (measured: their dump restarts whenever the generation moves), so bursts are served at once and then
 * the rate is held.
 */
export interface BucketLimits {
  /** Commits that may follow one another at once. */
  readonly burst: number;
  readonly perSecond: number;
}

export const COMMIT_LIMITS: BucketLimits = { burst: 5, perSecond: 10 };

export class TokenBucket {
  readonly #limits: BucketLimits;
  #tokens: number;
  #atMs: number;

  constructor(limits: BucketLimits, nowMs: number) {
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#atMs = nowMs;
  }

  /** Takes a token, in advance if none is left; answers for how many milliseconds to wait before using it. */
  take(nowMs: number): number {
    const { burst, perSecond } = this.#limits;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond) - 1;
    this.#atMs = nowMs;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }

  /** For a token that was not used after all. */
  giveBack(): void {
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + 1);
  }
}
