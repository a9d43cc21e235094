/** A `Map` or a `WeakMap`. */
interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** What the key has; where it has nothing yet, it is made and stays. */
export function getOrMake<K, V>(entries: Entries<K, V>, key: K, make: () => V): V {
  const found = entries.get(key);
  if (found !== undefined) return found;
  const made = make();
  entries.set(key, made);
  return made;
}
