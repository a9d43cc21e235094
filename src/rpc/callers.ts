/** How often whoever reaches a port of ours may begin: TLS costs a millisecond of the agent each time. */
import { TokenBucket } from '../model/tokenbucket.ts';

/** A Prometheus comes once in seconds, and keeps its connection. */
const EACH = { perSecond: 1, burst: 10 };
const ALL = { perSecond: 10, burst: 40 };
/** The source that came first is forgotten where there are more. */
const MOST_SOURCES = 256;

export class Callers {
  readonly #sources = new Map<string, TokenBucket>();
  readonly #all = new TokenBucket(ALL);

  /** Whether a connection from this address may go on. */
  isWelcome(source: string, nowMs: number): boolean {
    const own = this.#bucketOf(source);
    if (own.level(nowMs) < 1 || this.#all.level(nowMs) < 1) return false;
    own.take(nowMs);
    this.#all.take(nowMs);
    return true;
  }

  #bucketOf(source: string): TokenBucket {
    const known = this.#sources.get(source);
    if (known !== undefined) return known;
    const [oldest] = this.#sources.keys();
    if (this.#sources.size >= MOST_SOURCES) this.#sources.delete(oldest!);
    const bucket = new TokenBucket(EACH);
    this.#sources.set(source, bucket);
    return bucket;
  }
}
