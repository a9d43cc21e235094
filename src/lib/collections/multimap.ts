/**
 * Values by key, each once, in the order in which they were added. Most keys have one value, which is stored without a
 * Set: a Set of one object takes as much memory as the object.
 */
export class MultiMap<K, V extends object> {
  readonly #entries = new Map<K, V | Set<V>>();

  add(key: K, value: V): void {
    const found = this.#entries.get(key);
    if (found === undefined) this.#entries.set(key, value);
    else if (found instanceof Set) found.add(value);
    else if (found !== value) this.#entries.set(key, new Set([found, value]));
  }

  delete(key: K, value: V): void {
    const found = this.#entries.get(key);
    if (found === value) this.#entries.delete(key);
    else if (found instanceof Set && found.delete(value) && found.size === 0) this.#entries.delete(key);
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): Iterable<V> {
    const found = this.#entries.get(key);
    if (found === undefined) return NONE;
    return found instanceof Set ? found : [found];
  }

  /** How many values `get` returns. */
  count(key: K): number {
    const found = this.#entries.get(key);
    if (found === undefined) return 0;
    return found instanceof Set ? found.size : 1;
  }

  /** The values of all keys; a value comes once for each of its keys. */
  *values(): Generator<V> {
    for (const found of this.#entries.values()) {
      if (found instanceof Set) yield* found;
      else yield found;
    }
  }
}

const NONE: Iterable<never> = [];
