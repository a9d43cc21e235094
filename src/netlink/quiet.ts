/**
 * Whether anybody else writes nftables in this network namespace. All writers wait for each other in the kernel:
 * while it is quiet a small commit takes 5 µs, and may hold the event loop for it; while somebody else loads ten
 * thousand rules it takes as long as they do, and must wait on another thread.
 */
import type { Generation } from '../nft/kernel.ts';

// Older knowledge is looked up anew: it costs 3 µs, and waits for nobody.
const FRESH_MS = 100;

export class Quiet {
  readonly #forMs: number;
  readonly #read: () => Generation;
  #generation: Generation | undefined;
  #askedAt = 0;
  #knownAt = Number.NEGATIVE_INFINITY;
  /** When we last learned of a change that was not ours; before we looked, nobody knows. */
  #strangerAt = performance.now();

  constructor(forMs: number, read: () => Generation) {
    this.#forMs = forMs;
    this.#read = read;
  }

  isQuiet(): boolean {
    this.#askedAt = performance.now();
    if (this.#askedAt - this.#knownAt > FRESH_MS) this.look();
    return this.#askedAt - this.#strangerAt >= this.#forMs;
  }

  /** The generation as we last knew it. */
  known(): Generation {
    return this.#generation ?? this.look();
  }

  /** The generation as it is now. */
  look(): Generation {
    const generation = this.#read();
    this.#knownAt = performance.now();
    if (generation !== this.#generation) this.#strangerAt = this.#knownAt;
    this.#generation = generation;
    return generation;
  }

  /** The generation that our own commit made. */
  made(generation: Generation): void {
    this.#generation = generation;
    this.#knownAt = this.#askedAt; // every commit asks first; a look at the clock costs a hundredth of it
  }
}
