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
  /** Of all that is held together; beyond it too. */
  readonly mostSize: number;
}

interface Held<T> {
  readonly item: T;
  readonly cameMs: number;
  readonly size: number;
}

export class Reorder<T extends Timed> {
  readonly #options: ReorderOptions;
  #held: Held<T>[] = [];
  #size = 0;
  /** Nothing goes before: at the start all nodes tell of what they have recorded. */
  #notBeforeMs: number;

  constructor(options: ReorderOptions, notBeforeMs = 0) {
    this.#options = options;
    this.#notBeforeMs = notBeforeMs;
  }

  /** False where nobody takes what is due, and twice as much as may be held is: the item is not taken in. */
  add(item: T, cameMs: number, size: number): boolean {
    const { most, mostSize } = this.#options;
    if (this.#held.length >= 2 * most || this.#size + size > 2 * mostSize) return false;
    this.#held.push({ item, cameMs, size });
    this.#size += size;
    return true;
  }

  /** The start is over. */
  begin(): void {
    this.#notBeforeMs = 0;
  }

  /** What need not wait any longer, the earliest first. */
  due(nowMs: number): T[] {
    const isFull = this.#held.length > this.#options.most || this.#size > this.#options.mostSize;
    if (this.#held.length === 0 || (nowMs < this.#notBeforeMs && !isFull)) return [];
    this.#held.sort((a, b) => a.item.atMs - b.item.atMs);
    // Before the last that has waited long enough nothing is held back, though it came later.
    let count = this.#beyond();
    this.#held.forEach(({ cameMs }, index) => {
      if (nowMs - cameMs >= this.#options.holdMs) count = Math.max(count, index + 1);
    });
    const due = this.#held.splice(0, count);
    for (const { size } of due) this.#size -= size;
    return due.map(({ item }) => item);
  }

  /** All that is left, in the same order. */
  rest(): T[] {
    const rest = this.#held.map(({ item }) => item).sort((a, b) => a.atMs - b.atMs);
    this.#held = [];
    this.#size = 0;
    return rest;
  }

  /** How many of the earliest are more than may be held. */
  #beyond(): number {
    const { most, mostSize } = this.#options;
    let count = Math.max(0, this.#held.length - most);
    let size = this.#size - this.#held.slice(0, count).reduce((sum, held) => sum + held.size, 0);
    while (size > mostSize) size -= this.#held[count++]!.size;
    return count;
  }
}
