/** Rates with bursts. If the clock goes back, nothing is added and nothing is lost. */

export interface Rate {
  /** How many tokens may be taken at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Full at first. Taking more tokens than there are leaves a debt. */
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

/** A rate for each key, so that a key that is used too often takes nothing from others. */
export class KeyedRates {
  readonly #rate: Rate;
  readonly #most: number;
  /** The key that was used longest ago comes first, and is forgotten when there are too many. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: Rate, most = Number.POSITIVE_INFINITY) {
    this.#rate = rate;
    this.#most = most;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * How many tokens the key has: the burst, for a key that is not remembered. Asking does not make another key be
   * forgotten.
   */
  level(key: string, nowMs: number): number {
    return this.#buckets.has(key) ? this.#bucketOf(key).level(nowMs) : this.#rate.burst;
  }

  /** Takes tokens of the key. If it has fewer, the rest is a debt that later refills pay first. */
  take(key: string, nowMs: number, tokens = 1): void {
    this.#bucketOf(key).take(nowMs, tokens);
  }

  /** Forgets the keys whose bucket is full, because a new bucket would be the same. */
  forgetFullBuckets(nowMs: number): void {
    for (const [key, bucket] of this.#buckets)
      if (bucket.level(nowMs) >= this.#rate.burst) this.#buckets.delete(key);
  }

  retainOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#buckets.keys()) if (!keys.has(key)) this.#buckets.delete(key);
  }

  #bucketOf(key: string): TokenBucket {
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#rate);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > this.#most) this.#buckets.delete(this.#buckets.keys().next().value!);
    return bucket;
  }
}

/** A rate for each source, and one for all of them together. */
export class SourceRates {
  readonly #each: KeyedRates;
  readonly #all: TokenBucket;

  constructor(each: Rate, all: Rate, mostSources: number) {
    this.#each = new KeyedRates(each, mostSources);
    this.#all = new TokenBucket(all);
  }

  /** Whether one more of this source is within both rates; it counts only then. */
  take(source: string, nowMs: number): boolean {
    if (this.#each.level(source, nowMs) < 1 || this.#all.level(nowMs) < 1) return false;
    this.#each.take(source, nowMs);
    this.#all.take(nowMs);
    return true;
  }
}
