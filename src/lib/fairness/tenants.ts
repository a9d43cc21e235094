/**
 * Who loses where there is too much of something: of the namespace that has most, the pod that has most. So a
 * namespace that has less than its share loses nothing, whatever others do and however many pods they do it with.
 */

/** What a pod has of it. */
export interface Holding {
  readonly namespace: string;
  readonly size: number;
}

/** Undefined of none. */
export function richest<T extends Holding>(holdings: Iterable<T>): T | undefined {
  const namespaces = new Map<string, { sum: number; largest: T }>();
  for (const holding of holdings) {
    const known = namespaces.get(holding.namespace);
    if (known === undefined) {
      namespaces.set(holding.namespace, { sum: holding.size, largest: holding });
      continue;
    }
    known.sum += holding.size;
    if (holding.size > known.largest.size) known.largest = holding;
  }
  let most: { sum: number; largest: T } | undefined;
  for (const each of namespaces.values()) if (most === undefined || each.sum > most.sum) most = each;
  return most?.largest;
}
