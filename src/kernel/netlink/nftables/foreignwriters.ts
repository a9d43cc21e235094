/**
 * Whether anybody else writes nftables in this network namespace. All writers wait for each other in the kernel:
 * while it is quiet a small commit takes microseconds, and may hold the event loop for it; while somebody else loads
 * ten thousand rules it takes as long as they do, and must wait on another thread.
 */
import type { Generation } from '../../../nft/kernel.ts';

// Older knowledge is looked up anew: it costs 3 µs, and waits for nobody.
const FRESH_MS = 100;

export class ForeignWriters {
  readonly #forMs: number;
  readonly #read: () => Generation;
  #generation: Generation | undefined;
  /** What we know is young. A timer ends that: to read a clock at every commit would take 3 % of its time. */
  #fresh = false;
  /** As it was when we last looked at the clock. */
  #quiet = false;
  /** When we last learned of a change that was not ours; before we looked, nobody knows. */
  #foreignAt = performance.now();

  constructor(forMs: number, read: () => Generation) {
    this.#forMs = forMs;
    this.#read = read;
  }

  isQuiet(): boolean {
    if (!this.#fresh) this.look();
    if (!this.#quiet) this.#quiet = performance.now() - this.#foreignAt >= this.#forMs;
    return this.#quiet;
  }

  /** The generation as we last knew it. */
  known(): Generation {
    return this.#generation ?? this.look();
  }

  /** The generation as it is now. */
  look(): Generation {
    const generation = this.#read();
    if (generation !== this.#generation) this.#recordForeign();
    if (!this.#fresh) this.#age();
    this.#generation = generation;
    return generation;
  }

  /** The generation that our own commit made. */
  made(generation: Generation): void {
    this.#generation = generation;
  }

  #recordForeign(): void {
    this.#foreignAt = performance.now();
    this.#quiet = false;
  }

  #age(): void {
    this.#fresh = true;
    const timer = setTimeout(() => {
      this.#fresh = false;
    }, FRESH_MS);
    timer.unref();
  }
}
