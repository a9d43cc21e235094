/**
 * One order of time for what comes from many nodes: each thing is held for a moment, in which earlier ones of other nodes
 * may still come. What comes later than that comes late, with its own time.
 */
export interface Timed {
  readonly atMs: number;
}

export interface ReorderOptions {
  readonly holdMs: number;
  /** At once; beyond them the earliest go without waiting. */
  readonly most: number;
}

interface Held<T> {
  readonly item: T;
  readonly cameMs: number;
}

export class Reorder<T extends Timed> {
  readonly #options: ReorderOptions;
  #held: Held<T>[] = [];
  /** Nothing goes before: at the start all nodes tell of what they have recorded. */
  #notBeforeMs: number;

  constructor(options: ReorderOptions, notBeforeMs = 0) {
    this.#options = options;
    this.#notBeforeMs = notBeforeMs;
  }

  add(item: T, cameMs: number): void {
    this.#held.push({ item, cameMs });
  }

  /** The start is over. */
  begin(): void {
    this.#notBeforeMs = 0;
  }

  /** What need not wait any longer, the earliest first. */
  due(nowMs: number): T[] {
    const { holdMs, most } = this.#options;
    if (this.#held.length === 0 || (nowMs < this.#notBeforeMs && this.#held.length <= most)) return [];
    this.#held.sort((a, b) => a.item.atMs - b.item.atMs);
    // Before the last that has waited long enough nothing is held back, though it came later.
    let count = Math.max(0, this.#held.length - most);
    this.#held.forEach(({ cameMs }, index) => {
      if (nowMs - cameMs >= holdMs) count = Math.max(count, index + 1);
    });
    return this.#held.splice(0, count).map(({ item }) => item);
  }

  /** All that is left, in the same order. */
  rest(): T[] {
    const rest = this.#held.map(({ item }) => item).sort((a, b) => a.atMs - b.atMs);
    this.#held = [];
    return rest;
  }
}
