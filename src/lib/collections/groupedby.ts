import { getOrMake } from './getormake.ts';

/** Items by key, in the order in which the keys came. Node 20, on which the one-file command line runs, has nothing for it. */
export function groupedBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) getOrMake(groups, keyOf(item), () => []).push(item);
  return groups;
}
