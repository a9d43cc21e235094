import { getOrMake } from '../../lib/collections/getormake.ts';

/** Objects of the kernel by name with the number of their users; one that is made again equal stays the same object. */
export class UsedObjects<T extends { readonly name: string }> {
  readonly #entries = new Map<string, { value: T; uses: number }>();
  readonly #equal: (a: T, b: T) => boolean;

  constructor(equal: (a: T, b: T) => boolean) {
    this.#equal = equal;
  }

  acquire(value: T): void {
    const entry = getOrMake(this.#entries, value.name, () => ({ value, uses: 0 }));
    entry.uses++;
    if (!this.#equal(entry.value, value)) entry.value = value;
  }

  release(name: string): void {
    const entry = this.#entries.get(name)!;
    if (--entry.uses === 0) this.#entries.delete(name);
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  *values(): Generator<T> {
    for (const { value } of this.#entries.values()) yield value;
  }
}
