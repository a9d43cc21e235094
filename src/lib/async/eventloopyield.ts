/** Splits long work into slices, so that other tasks of the event loop run between them. */

// Work that resolves in one phase of the loop and begins in the next has no timer between: other tasks wait at most
// twice as long as this.
const SLICE_MS = 2;

export class EventLoopYield {
  #began = performance.now();

  /** Whether it is time to call `rest`. */
  get isOver(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  async rest(): Promise<void> {
    const began = performance.now();
    await nextTurn();
    // If another task took long in this pass of the loop, timers are late by now: let them run before going on.
    if (performance.now() - began > SLICE_MS) await nextTurn();
    this.#began = performance.now();
  }
}

/** Runs work that comes in pieces, and lets other tasks run between slices of it. */
export async function inSlices<T>(work: Iterator<void, T>): Promise<T> {
  const slices = new EventLoopYield();
  for (let piece = work.next(); ; piece = work.next()) {
    if (piece.done) return piece.value;
    if (slices.isOver) await slices.rest();
  }
}

/** Resolves after all other waiting tasks of the event loop have run once. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
