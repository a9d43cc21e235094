/**
 * Who loses where there is too much of something: whoever has most of it. So nobody who has less than an equal share
 * loses anything, whatever others do.
 */
import { getOrMake } from '../collections/getormake.ts';

/** Of those that have as much the one that comes first; undefined of none. */
export function largest<T>(all: Iterable<T>, sizeOf: (each: T) => number): T | undefined {
  let most: { readonly each: T; readonly size: number } | undefined;
  for (const each of all) {
    const size = sizeOf(each);
    if (most === undefined || size > most.size) most = { each, size };
  }
  return most?.each;
}

/** What a pod has. */
export interface Holding {
  readonly namespace: string;
  readonly size: number;
}

/** Of the namespace that has most, the pod that has most: many pods are no way to take from others. */
export function largestHolding<T extends Holding>(holdings: Iterable<T>): T | undefined {
  const namespaces = new Map<string, T[]>();
  for (const holding of holdings) getOrMake(namespaces, holding.namespace, () => []).push(holding);
  const its = largest(namespaces.values(), pods => pods.reduce((sum, pod) => sum + pod.size, 0));
  return its && largest(its, ({ size }) => size);
}

/** Whose a thing is. */
export interface Origin {
  readonly group: string;
  readonly source: string;
}

class Group<T> {
  readonly sources = new Map<string, T[]>();
  length = 0;
}

/**
 * A list of the latest: where it is full, the group with most loses one, of its source with most, the oldest. Whoever is
 * outside of the node may say any address, so that all of them are one group.
 */
export class QuotaList<T> {
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
    const [name, group] = largest(this.#groups, ([, { length }]) => length)!;
    const [source, items] = largest(group.sources, ([, { length }]) => length)!;
    const gone = items.shift()!;
    this.#size--;
    group.length--;
    if (items.length === 0) group.sources.delete(source);
    if (group.length === 0) this.#groups.delete(name);
    return gone;
  }
}
