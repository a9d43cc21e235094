/**
 * Whether other processes write nftables in this network namespace. The kernel lets one writer at a time proceed. If
 * there is no other, a small commit takes microseconds and may run on the event loop; while another process loads ten
 * thousand rules, a commit takes as long as that load and must wait on another thread.
 */
import type { Generation } from '../../../nft/kernel.ts';

// Older knowledge is refreshed: that costs 3 µs, and does not wait for other processes.
const FRESH_MS = 100;

export class ForeignWriters {
  readonly #forMs: number;
  readonly #read: () => Generation;
  #generation: Generation | undefined;
  /**
   * Whether our knowledge is younger than FRESH_MS. A timer resets it: reading a clock at every commit would take 3 %
   * of the time of a commit.
   */
  #fresh = false;
  /** Whether it was quiet when the clock was last read. */
  #quiet = false;
  /** When a change of another process was last detected; until the first look, the time of the start. */
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

  /** Takes in, and answers, the generation that our own commit made. */
  made(generation: Generation): Generation {
    this.#generation = generation;
    return generation;
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
