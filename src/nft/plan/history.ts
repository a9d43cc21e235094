import { type ElementKey, type Elements, type ElementValue, MEMBER } from '../ruleset.ts';

/**
 * The plain members of a set as they come and go. `now()` is a value that stays what it is: an older one knows
 * what was different in it from the one after it, so that neither a change nor a plan looks at all members.
 *
 *     older ──what was different──▶ old ──what was different──▶ now, which reads the one Map that there is
 */
export class MemberHistory {
  readonly #members = new Map<ElementKey, ElementValue>();
  #now = new Version(this.#members);
  /** The version before `#now`, which nobody has yet. */
  #before: Version | undefined;
  #isAsked = false;

  /** The same object until something changes. */
  now(): Elements {
    this.#isAsked = true;
    this.#before = undefined; // whoever has it keeps it as long as he needs it
    return this.#now;
  }

  has(key: ElementKey): boolean {
    return this.#members.has(key);
  }

  /** Answers whether it was not a member before. */
  add(key: ElementKey): boolean {
    // Most members come before anybody has asked for a version: then one access is enough.
    if (this.#isAsked || this.#before !== undefined) {
      if (this.#members.has(key)) return false;
      this.#willChange(key);
    }
    const before = this.#members.size;
    this.#members.set(key, MEMBER);
    return this.#members.size > before;
  }

  delete(key: ElementKey): void {
    this.#willChange(key);
    this.#members.delete(key);
  }

  #willChange(key: ElementKey): void {
    if (this.#isAsked) {
      this.#before = this.#now;
      this.#now = this.#before.supersede(new Version(this.#members));
      this.#isAsked = false;
    }
    this.#before?.remember(key, this.#members.get(key));
  }
}

/** All keys in which the two may differ; undefined where the one is not known to have become the other. */
export function changedKeys(older: Elements, newer: Elements): Iterable<ElementKey> | undefined {
  return older instanceof Version && newer instanceof Version ? older.changedUntil(newer) : undefined;
}

class Version implements ReadonlyMap<ElementKey, ElementValue> {
  /** The Map while this is the newest version, then the version after it. */
  #base: ReadonlyMap<ElementKey, ElementValue>;
  /** Where it differs from its base: the values that were, undefined for none. */
  readonly #different = new Map<ElementKey, ElementValue | undefined>();

  constructor(members: ReadonlyMap<ElementKey, ElementValue>) {
    this.#base = members;
  }

  supersede(newer: Version): Version {
    this.#base = newer;
    return newer;
  }

  remember(key: ElementKey, value: ElementValue | undefined): void {
    if (!this.#different.has(key)) this.#different.set(key, value);
  }

  changedUntil(newer: Version): Set<ElementKey> | undefined {
    const keys = new Set<ElementKey>();
    let version: ReadonlyMap<ElementKey, ElementValue> = this;
    while (version !== newer) {
      if (!(version instanceof Version)) return undefined;
      for (const key of version.#different.keys()) keys.add(key);
      version = version.#base;
    }
    return keys;
  }

  get size(): number {
    let size = this.#base.size;
    for (const [key, value] of this.#different)
      size += Number(value !== undefined) - Number(this.#base.has(key));
    return size;
  }

  get(key: ElementKey): ElementValue | undefined {
    return this.#different.has(key) ? this.#different.get(key) : this.#base.get(key);
  }

  has(key: ElementKey): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[ElementKey, ElementValue]> {
    for (const entry of this.#base) if (!this.#different.has(entry[0])) yield entry;
    for (const [key, value] of this.#different) if (value !== undefined) yield [key, value];
  }

  *keys(): MapIterator<ElementKey> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<ElementValue> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[ElementKey, ElementValue]> {
    return this.entries();
  }

  forEach(visit: (value: ElementValue, key: ElementKey, map: Elements) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this);
  }
}
