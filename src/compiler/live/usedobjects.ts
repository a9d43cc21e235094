import { getOrMake } from '../../lib/collections/getormake.ts';

/** Objects of the kernel by name with the number of their users; one that is made again equal stays the same object. */
export class UsedObjects<T extends { readonly name: string }> {
  readonly #entries = new Map<string, { value: T; uses: number }>();
  readonly #equal: (a: T, b: T) => boolean;
  #changed = new Set<string>();

  constructor(equal: (a: T, b: T) => boolean) {
    this.#equal = equal;
  }

  acquire(value: T): void {
    const entry = getOrMake(this.#entries, value.name, () => ({ value, uses: 0 }));
    if (entry.uses++ === 0) this.#changed.add(value.name);
    if (this.#equal(entry.value, value)) return;
    entry.value = value;
    this.#changed.add(value.name);
  }

  release(name: string): void {
    const entry = this.#entries.get(name)!;
    if (--entry.uses > 0) return;
    this.#entries.delete(name);
    this.#changed.add(name);
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /** Names of objects that came, went or changed since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }
}
