/** Counters of the kernel as totals that only rise: a rule that is made anew counts from zero. */

/** Many may ask at the same time; the kernel is asked at most this often. */
const FRESH_MS = 500;

export class RunningTotals {
  readonly #readCounters: () => Promise<readonly number[]>;
  #last: readonly number[] | undefined;
  readonly #totals: number[] = [];
  #reading: Promise<void> | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(readCounters: () => Promise<readonly number[]>) {
    this.#readCounters = readCounters;
  }

  /** Since the first call: what was counted before is somebody else's. What cannot be read has not changed. */
  async read(): Promise<readonly number[]> {
    if (performance.now() - this.#readMs > FRESH_MS)
      this.#reading ??= this.#look().finally(() => {
        this.#reading = undefined;
      });
    await this.#reading;
    return [...this.#totals];
  }

  async #look(): Promise<void> {
    const counters = await this.#readCounters().catch(() => undefined);
    this.#readMs = performance.now();
    if (counters === undefined) return;
    const before = this.#last ?? counters;
    counters.forEach((count, i) => {
      this.#totals[i] = (this.#totals[i] ?? 0) + risen(before[i] ?? 0, count);
    });
    this.#last = counters;
  }
}

function risen(before: number, now: number): number {
  return now >= before ? now - before : now;
}
