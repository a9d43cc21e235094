/** A rate for each source, and one for all of them together: a source that comes too often takes nothing of others. */
import { type Rate, TokenBucket } from './tokenbucket.ts';

export class SourceRates {
  readonly #each: Rate;
  readonly #mostSources: number;
  /** The one that came longest ago comes first, and is forgotten where there are more. */
  readonly #sources = new Map<string, TokenBucket>();
  readonly #all: TokenBucket;

  constructor(each: Rate, all: Rate, mostSources: number) {
    this.#each = each;
    this.#mostSources = mostSources;
    this.#all = new TokenBucket(all);
  }

  /** Whether one more of this source is within both rates; only then it counts. */
  take(source: string, nowMs: number): boolean {
    const own = this.#bucketOf(source);
    if (own.level(nowMs) < 1 || this.#all.level(nowMs) < 1) return false;
    own.take(nowMs);
    this.#all.take(nowMs);
    return true;
  }

  #bucketOf(source: string): TokenBucket {
    const bucket = this.#sources.get(source) ?? new TokenBucket(this.#each);
    this.#sources.delete(source);
    this.#sources.set(source, bucket);
    if (this.#sources.size > this.#mostSources) this.#sources.delete(this.#sources.keys().next().value!);
    return bucket;
  }
}
