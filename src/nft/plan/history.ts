/**
 * Versions of a map that share one map of values. The newest version reads that map, which changes when a version is
 * made after it; an older version keeps the values in which it differs from the version after it. So a version never
 * changes, and neither a change nor a plan looks at all entries.
 *
 *     older ──its different values──▶ old ──its different values──▶ newest, which reads the shared map
 */
import {
  type ElementKey,
  type Elements,
  type ElementValue,
  MEMBER,
  type NftSet,
  type SetSpec,
} from '../ruleset.ts';

/** A set of plain members that changes, with the versions that were read from it. */
export class MemberHistory {
  readonly #members = new Members();
  #now = new Version<ElementValue>(this.#members);
  /** The version before `#now`, which no caller has yet. */
  #before: Version<ElementValue> | undefined;
  #isAsked = false;

  /** The current version of the set; the same object until something changes. */
  now(): Elements {
    this.#isAsked = true;
    this.#before = undefined; // a caller that has it keeps it as long as it needs it
    return this.#now;
  }

  has(key: ElementKey): boolean {
    return this.#members.has(key);
  }

  get size(): number {
    return this.#members.size;
  }

  /** Returns whether it was not a member before. */
  add(key: ElementKey): boolean {
    // Most members are added before a version is read: then one access is enough.
    if (this.#isAsked || this.#before !== undefined) {
      if (this.#members.has(key)) return false;
      this.#willChange(key, undefined);
    }
    const before = this.#members.size;
    this.#members.add(key);
    return this.#members.size > before;
  }

  delete(key: ElementKey): void {
    this.#willChange(key, this.#members.get(key));
    this.#members.delete(key);
  }

  #willChange(key: ElementKey, before: ElementValue | undefined): void {
    if (this.#isAsked) {
      this.#before = this.#now;
      this.#now = new Version(this.#members);
      this.#before.base = this.#now;
      this.#isAsked = false;
    }
    this.#before?.remember(key, before);
  }
}

/** A set of one family as its members come and go, which several may have in common. */
export class LiveSet {
  readonly #members = new MemberHistory();
  /** How many further members add the same key; nearly all keys have none. */
  readonly #others = new Map<ElementKey, number>();
  #set: NftSet;

  constructor(spec: SetSpec) {
    this.#set = { ...spec, elements: this.#members.now() };
  }

  /** Returns whether the set has not had the key. */
  add(key: ElementKey): boolean {
    const isNew = this.#members.add(key);
    if (!isNew) this.#others.set(key, (this.#others.get(key) ?? 0) + 1);
    return isNew;
  }

  /** Returns whether the set has the key no longer. */
  delete(key: ElementKey): boolean {
    const others = this.#others.get(key) ?? 0;
    if (others === 0) this.#members.delete(key);
    else if (others === 1) this.#others.delete(key);
    else this.#others.set(key, others - 1);
    return others === 0;
  }

  get size(): number {
    return this.#members.size;
  }

  /** The set with its current members; the same object until a member changes. */
  now(): NftSet {
    const elements = this.#members.now();
    if (elements !== this.#set.elements) this.#set = { ...this.#set, elements };
    return this.#set;
  }
}

/**
 * The map with these changes, where undefined removes a key; the same object where nothing changes. The given map keeps
 * its content. The cost is that of the changes for the newest version of a map, and that of a copy for any other map.
 */
export function withChanges<V>(
  map: ReadonlyMap<string, V>,
  changes: Iterable<readonly [string, V | undefined]>,
): ReadonlyMap<string, V> {
  const different: (readonly [string, V | undefined])[] = [];
  for (const change of changes) if (map.get(change[0]) !== change[1]) different.push(change);
  if (different.length === 0) return map;
  const newest = map instanceof Version && map.base instanceof Map ? map : new Version(new Map(map));
  const values = newest.base as Map<string, V>;
  const now = new Version<V>(values);
  newest.base = now;
  for (const [key, value] of different) {
    newest.remember(key, values.get(key));
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }
  return now;
}

/** All keys in which the two versions may differ; undefined if it is not known that one became the other. */
export function changedKeys<V>(
  older: ReadonlyMap<string, V>,
  newer: ReadonlyMap<string, V>,
): ReadonlySet<string> | undefined {
  if (older === newer) return NO_KEYS;
  return older instanceof Version && newer instanceof Version ? older.changedUntil(newer) : undefined;
}

const NO_KEYS: ReadonlySet<string> = new Set();

type Values<V> = Pick<ReadonlyMap<string, V>, 'get' | 'has' | 'size' | 'keys'>;

/** A Set with the interface of a map: there are very many members, and all have the same value. */
class Members extends Set<ElementKey> implements Values<ElementValue> {
  get(key: ElementKey): ElementValue | undefined {
    return this.has(key) ? MEMBER : undefined;
  }
}

class Version<V> implements ReadonlyMap<string, V> {
  /** The shared values if this is the newest version, else the version after it. */
  base: Values<V>;
  /** The values in which this version differs from its base. */
  readonly #different = new Map<string, V | undefined>();

  constructor(values: Values<V>) {
    this.base = values;
  }

  remember(key: string, value: V | undefined): void {
    if (!this.#different.has(key)) this.#different.set(key, value);
  }

  changedUntil(newer: Version<V>): Set<string> | undefined {
    const keys = new Set<string>();
    let version: Values<V> = this;
    while (version !== newer) {
      if (!(version instanceof Version)) return undefined;
      for (const key of version.#different.keys()) keys.add(key);
      version = version.base;
    }
    return keys;
  }

  /**
   * The shared values, and all values in which this version differs from them. Very many versions may lie between the
   * two.
   */
  #whole(): { readonly values: Values<V>; readonly different: ReadonlyMap<string, V | undefined> } {
    if (!(this.base instanceof Version)) return { values: this.base, different: this.#different };
    const different = new Map(this.#different);
    let values: Values<V> = this.base;
    for (; values instanceof Version; values = values.base)
      for (const [key, value] of values.#different) if (!different.has(key)) different.set(key, value);
    return { values, different };
  }

  get size(): number {
    const { values, different } = this.#whole();
    let { size } = values;
    for (const [key, value] of different) size += Number(value !== undefined) - Number(values.has(key));
    return size;
  }

  get(key: string): V | undefined {
    let version: Values<V> = this;
    while (version instanceof Version) {
      if (version.#different.has(key)) return version.#different.get(key);
      version = version.base;
    }
    return version.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *keys(): MapIterator<string> {
    const { values, different } = this.#whole();
    for (const key of values.keys()) if (!different.has(key)) yield key;
    for (const [key, value] of different) if (value !== undefined) yield key;
  }

  *entries(): MapIterator<[string, V]> {
    const { values, different } = this.#whole();
    for (const key of values.keys()) if (!different.has(key)) yield [key, values.get(key)!];
    for (const [key, value] of different) if (value !== undefined) yield [key, value];
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this);
  }
}
