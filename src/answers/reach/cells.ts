/** What may pass between two places, over each family that both have. */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Connections } from './connections.ts';
import type { Ends } from './place.ts';
import type { Reach } from './reach.ts';

/** Absent where one of the two has no address of the family. */
export type Cell = Partial<Record<Family, Connections>>;

export function cellOf(reach: Reach, from: Ends, to: Ends): Cell {
  const cell: Cell = {};
  for (const family of FAMILIES) {
    const [source, destination] = [from[family], to[family]];
    if (source !== undefined && destination !== undefined)
      cell[family] = passing(reach, family, source, destination);
  }
  return cell;
}

/** The same number for the same cell; 0 where the two have no family in common. */
export function cellKey(reach: Reach, from: Ends, to: Ends): number {
  return FAMILIES.reduce((key, family) => {
    const [source, destination] = [from[family], to[family]];
    const known = source !== undefined && destination !== undefined;
    return key * MOST_SETS + (known ? passing(reach, family, source, destination).id + 1 : 0);
  }, 0);
}

/** An address has a name for those alone that are told it: to others it is an address of its network. */
function passing(
  { pool, families }: Reach,
  family: Family,
  source: number,
  destination: number,
): Connections {
  const reach = families[family];
  const { ends } = reach;
  const nameClass = ends.nameClassOf(destination);
  const isNobodys =
    ends.nameClassOf(source) !== undefined || (nameClass !== undefined && !reach.isTold(source, nameClass));
  return isNobodys ? pool.none : reach.connections(source, destination);
}

const MOST_SETS = 2 ** 26;
