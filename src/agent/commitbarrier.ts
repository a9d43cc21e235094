/** Knows when the kernel holds all that was noted so far. */
import type { Observer } from './observer.ts';

interface Waiting {
  readonly noted: number;
  readonly resolve: () => void;
}

export class CommitBarrier implements Pick<Observer, 'noted' | 'committing' | 'committed'> {
  /** How many calls have noted something; how many of them are in the batch under way, and in the kernel. */
  #noted = 0;
  #taken = 0;
  #programmed = -1;
  #waiting: readonly Waiting[] = [];

  /** Resolves when the kernel has all events from before the call, however long that takes. */
  programmed(): Promise<void> {
    if (this.#programmed >= this.#noted) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting = [...this.#waiting, { noted: this.#noted, resolve }];
    });
  }

  noted(): void {
    this.#noted++;
  }

  committing(): void {
    this.#taken = this.#noted;
  }

  committed(): void {
    this.#programmed = this.#taken;
    const isThere = ({ noted }: Waiting) => noted <= this.#programmed;
    for (const { resolve } of this.#waiting.filter(isThere)) resolve();
    this.#waiting = this.#waiting.filter(waiting => !isThere(waiting));
  }
}
