/** What may pass between two places, over each family that both have. */
import { FAMILIES, type Family } from '../model/address.ts';
import type { Connections } from './connections.ts';
import type { Ends, Place } from './place.ts';
import type { Reach } from './reach.ts';

/** Absent where one of the two has no address of the family. */
export type Cell = Partial<Record<Family, Connections>>;

export function cellOf({ families }: Reach, from: Ends, to: Ends): Cell {
  const cell: Cell = {};
  for (const family of FAMILIES) {
    const [source, destination] = [from[family], to[family]];
    if (source !== undefined && destination !== undefined)
      cell[family] = families[family].connections(source, destination);
  }
  return cell;
}

/** The same number for the same cell; 0 where the two have no family in common. */
export function cellKey(reach: Reach, from: Ends, to: Ends): number {
  return FAMILIES.reduce((key, family) => {
    const [source, destination] = [from[family], to[family]];
    const known = source !== undefined && destination !== undefined;
    return key * MOST_SETS + (known ? reach.families[family].connections(source, destination).id + 1 : 0);
  }, 0);
}

const MOST_SETS = 2 ** 26;

export function isSamePlace(a: Place, b: Place): boolean {
  return a.ends.ip === b.ends.ip && a.ends.ip6 === b.ends.ip6;
}
