/**
 * Decides who loses something if there is too much of it: the one that has most. So whoever has less than an equal
 * share loses nothing, whatever others do.
 */
import { getOrMake } from '../collections/getormake.ts';

/** The item with the largest size, and the first one of several with that size. Undefined if there are no items. */
export function largest<T>(all: Iterable<T>, sizeOf: (each: T) => number): T | undefined {
  let most: { readonly each: T; readonly size: number } | undefined;
  for (const each of all) {
    const size = sizeOf(each);
    if (most === undefined || size > most.size) most = { each, size };
  }
  return most?.each;
}

/** How much a pod has, and its namespace. */
export interface Holding {
  readonly namespace: string;
  readonly size: number;
}

/** The largest holding of the namespace that has most: a namespace cannot take from others by having many pods. */
export function largestHolding<T extends Holding>(holdings: Iterable<T>): T | undefined {
  const namespaces = new Map<string, T[]>();
  for (const holding of holdings) getOrMake(namespaces, holding.namespace, () => []).push(holding);
  const its = largest(namespaces.values(), pods => pods.reduce((sum, pod) => sum + pod.size, 0));
  return its && largest(its, ({ size }) => size);
}

/** The group and the source that an item counts for. */
export interface Origin {
  readonly group: string;
  readonly source: string;
}

class Group<T> {
  readonly sources = new Map<string, T[]>();
  length = 0;
}

/**
 * The latest items. If the list is full, the group with most items loses the oldest of the source with most. Senders
 * outside the node can forge any address, so they are one group.
 */
export class QuotaList<T> {
  readonly #most: number;
  readonly #groups = new Map<string, Group<T>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds an item. Returns the item that lost its place for it, if any. */
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
