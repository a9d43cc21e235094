/** A rate that is kept, with bursts: where a clock goes back, nothing is added, and nothing is lost. */

export interface Rate {
  /** What may follow one another at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Full at first. Whoever takes more than there is leaves a debt. */
export class TokenBucket {
  readonly #rate: Rate;
  #level: number;
  #atMs = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#level = rate.burst;
  }

  level(nowMs: number): number {
    const { burst, perSecond } = this.#rate;
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#level = Math.min(burst, this.#level + (passedMs / 1000) * perSecond);
    this.#atMs = nowMs;
    return this.#level;
  }

  take(nowMs: number, tokens = 1): void {
    this.#level = this.level(nowMs) - tokens;
  }
}
