/** Long work on the event loop, in slices: between two of them everybody else has a turn. */

// What resolves in one phase of the loop and begins in the next runs without a timer in between: twice this, at worst.
const SLICE_MS = 2;

export class EventLoopYield {
  #began = performance.now();

  /** Whether it is time to `rest`. */
  get over(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  async rest(): Promise<void> {
    const began = performance.now();
    await nextTurn();
    // Another task had a long turn: what comes with ours in one pass of the loop would hold those who wait for a timer.
    if (performance.now() - began > SLICE_MS) await nextTurn();
    this.#began = performance.now();
  }
}

/** Does work that comes in pieces; between slices of it everybody else has a turn. */
export async function inSlices<T>(work: Iterator<void, T>): Promise<T> {
  const slices = new EventLoopYield();
  for (let piece = work.next(); ; piece = work.next()) {
    if (piece.done) return piece.value;
    if (slices.over) await slices.rest();
  }
}

/** Everybody else has a turn of the event loop first. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
