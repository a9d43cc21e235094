/** Long work on the event loop, in slices: between two of them everybody else has a turn. */
import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 4;

export class Slices {
  #began = performance.now();

  /** Whether it is time to `rest`. */
  get over(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  async rest(): Promise<void> {
    await setImmediate();
    this.#began = performance.now();
  }
}
