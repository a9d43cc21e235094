import { type ElementKey, type Elements, type ElementValue, MEMBER } from '../ruleset.ts';

/**
 * The plain members of a set as they come and go. `now()` is a value that stays what it is: an older one knows
 * what was different in it from the one after it, so that neither a change nor a plan looks at all members.
 *
 *     older ──what was different──▶ old ──what was different──▶ now, which reads the one Set that there is
 */
export class MemberHistory {
  readonly #members = new Set<ElementKey>();
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

  get size(): number {
    return this.#members.size;
  }

  /** Answers whether it was not a member before. */
  add(key: ElementKey): boolean {
    // Most members come before anybody has asked for a version: then one access is enough.
    if (this.#isAsked || this.#before !== undefined) {
      if (this.#members.has(key)) return false;
      this.#willChange(key);
    }
    const before = this.#members.size;
    this.#members.add(key);
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
    this.#before?.remember(key, this.#members.has(key));
  }
}

/** All keys in which the two may differ; undefined where the one is not known to have become the other. */
export function changedKeys(older: Elements, newer: Elements): Iterable<ElementKey> | undefined {
  return older instanceof Version && newer instanceof Version ? older.changedUntil(newer) : undefined;
}

class Version implements ReadonlyMap<ElementKey, ElementValue> {
  /** The Set while this is the newest version, then the version after it. */
  #base: ReadonlySet<ElementKey> | Version;
  /** Where it differs from its base: whether the key was a member. */
  readonly #different = new Map<ElementKey, boolean>();

  constructor(members: ReadonlySet<ElementKey>) {
    this.#base = members;
  }

  supersede(newer: Version): Version {
    this.#base = newer;
    return newer;
  }

  remember(key: ElementKey, wasMember: boolean): void {
    if (!this.#different.has(key)) this.#different.set(key, wasMember);
  }

  changedUntil(newer: Version): Set<ElementKey> | undefined {
    const keys = new Set<ElementKey>();
    let version: ReadonlySet<ElementKey> | Version = this;
    while (version !== newer) {
      if (!(version instanceof Version)) return undefined;
      for (const key of version.#different.keys()) keys.add(key);
      version = version.#base;
    }
    return keys;
  }

  get size(): number {
    let size = this.#base.size;
    for (const [key, wasMember] of this.#different) size += Number(wasMember) - Number(this.#base.has(key));
    return size;
  }

  get(key: ElementKey): ElementValue | undefined {
    return this.has(key) ? MEMBER : undefined;
  }

  has(key: ElementKey): boolean {
    return this.#different.get(key) ?? this.#base.has(key);
  }

  *keys(): MapIterator<ElementKey> {
    for (const key of this.#base.keys()) if (!this.#different.has(key)) yield key;
    for (const [key, wasMember] of this.#different) if (wasMember) yield key;
  }

  *entries(): MapIterator<[ElementKey, ElementValue]> {
    for (const key of this.keys()) yield [key, MEMBER];
  }

  *values(): MapIterator<ElementValue> {
    for (const _ of this.keys()) yield MEMBER;
  }

  [Symbol.iterator](): MapIterator<[ElementKey, ElementValue]> {
    return this.entries();
  }

  forEach(visit: (value: ElementValue, key: ElementKey, map: Elements) => void): void {
    for (const key of this.keys()) visit(MEMBER, key, this);
  }
}
