/** The methods that `Map` and `WeakMap` have in common. */
interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value of the key; if it has none yet, makes one and stores it. */
export function getOrMake<K, V>(entries: Entries<K, V>, key: K, make: () => V): V {
  const found = entries.get(key);
  if (found !== undefined) return found;
  const made = make();
  entries.set(key, made);
  return made;
}
