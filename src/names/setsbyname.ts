/**
 * The sets that a pod's rules look up, by the names that they are about. One of these serves all pods with the same
 * sets: a policy may have thousands of names, and a node hundreds of pods.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { DomainNameIndex } from '../model/domainname.ts';
import type { NamesSet } from './subjects.ts';

const MOST_LISTS = 64;

export class SetsByName {
  readonly #sets = new DomainNameIndex<NamesSet>();
  readonly #named: ReadonlyMap<string, NamesSet>;
  readonly #lists = new Map<string, readonly NamesSet[]>();

  constructor(sets: readonly NamesSet[]) {
    this.#named = new Map(sets.map(set => [set.name, set]));
    for (const set of sets) for (const pattern of set.patterns) this.#sets.add(pattern, set);
  }

  setNamed(name: string): NamesSet | undefined {
    return this.#named.get(name);
  }

  /** The sets that mean a name, each once; the same list for the same sets. */
  setsOf(name: string): readonly NamesSet[] {
    const values = this.#sets.valuesOf(name);
    if (values.length < 2) return values;
    const found = [...new Set(values)];
    const key = keyOf(found);
    const known = this.#lists.get(key) ?? found;
    if (this.#lists.size < MOST_LISTS) this.#lists.set(key, known);
    return known;
  }
}

/** Those of a node's pods. A set's name stands for what it means: what was made for one serves the next. */
export class AllSetsByName {
  readonly #made = new Map<string, SetsByName>();

  of(sets: readonly NamesSet[]): SetsByName {
    const key = keyOf(sets);
    return getOrMake(this.#made, key, () => new SetsByName(sets));
  }

  retainOnly(used: ReadonlySet<SetsByName>): void {
    for (const [key, made] of this.#made) if (!used.has(made)) this.#made.delete(key);
  }
}

function keyOf(sets: readonly NamesSet[]): string {
  return sets.map(({ name }) => name).join();
}
