/**
 * A list of the latest, in which nobody takes the room of others: where it is full, the group with most loses one, of its
 * source with most, the oldest. Whoever is outside of the node may say any address, so that all of them are one group.
 */
import { getOrMake } from '../collections/getormake.ts';

/** Whose a thing is. */
export interface Origin {
  readonly group: string;
  readonly source: string;
}

class Group<T> {
  readonly sources = new Map<string, T[]>();
  length = 0;
}

export class FairList<T> {
  readonly #most: number;
  readonly #groups = new Map<string, Group<T>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** What has no place any more. */
  add(item: T, { group, source }: Origin): T | undefined {
    const own = getOrMake(this.#groups, group, () => new Group<T>());
    getOrMake(own.sources, source, () => []).push(item);
    own.length++;
    return ++this.#size > this.#most ? this.#giveUpOne() : undefined;
  }

  *all(): Generator<T> {
    for (const { sources } of this.#groups.values()) for (const items of sources.values()) yield* items;
  }

  #giveUpOne(): T {
    const [name, group] = longest(this.#groups);
    const [source, items] = longest(group.sources);
    const gone = items.shift()!;
    this.#size--;
    group.length--;
    if (items.length === 0) group.sources.delete(source);
    if (group.length === 0) this.#groups.delete(name);
    return gone;
  }
}

/** Of those that are as long the one that came first. */
function longest<T extends { readonly length: number }>(map: ReadonlyMap<string, T>): readonly [string, T] {
  let most: readonly [string, T] | undefined;
  for (const each of map) if (most === undefined || each[1].length > most[1].length) most = each;
  return most!;
}
