/** Which pods that are not there yet could reach workloads, and be reached by them. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Direction } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import type { NewPodKind } from './newpods.ts';
import { type Cell, type Ends, MOST_SETS, type ReachPlace } from './places.ts';
import type { Reach } from './reach.ts';
import { endsIn, type World } from './worlds.ts';

/**
 * What workloads and new pods may do. It holds for all pods that the selector matches, except for those that a narrower
 * selector of the same workload matches; what several selectors say that are not narrower than each other adds up.
 */
export interface Exposure {
  /** `ingress`: the places are open to those pods. `egress`: they may reach them. */
  readonly direction: Direction;
  /** Indexes of the places that may do the same. */
  readonly places: readonly number[];
  /** Pods that are not there yet. */
  readonly whom: PodSelector;
  /** Nothing, where a wider selector lets more through. */
  readonly cell: Cell;
}

export function exposuresOf(
  worlds: readonly World[],
  places: readonly ReachPlace[],
  kinds: readonly NewPodKind[],
): Exposure[] {
  const { reach } = worlds[0]!;
  const found: (Exposure & { places: number[] })[] = [];
  const others = worlds.map(world => endsByFamily(world.others));
  for (const direction of ['ingress', 'egress'] as const) {
    /** By the kind, and by the cell. */
    const known = kinds.map(() => new Map<number | string, Exposure & { places: number[] }>());
    for (const [place, { ends, members }] of places.entries()) {
      const inEach = worlds.map((world, w) =>
        cellsOf(world.reach, direction, w === 0 ? ends : endsIn(world, members), others[w]!),
      );
      const cells = inEach.length === 1 ? inEach[0]! : allAndAny(worlds, inEach);
      for (const i of linesOf(reach, kinds, cells)) {
        const line = getOrMake(known[i]!, keyOf(cells, i), () => {
          const cell = cellOfKind(reach, cells, i);
          found.push({ direction, places: [], whom: kinds[i]!.selector, cell });
          return found.at(-1)!;
        });
        line.places.push(place);
      }
    }
  }
  return found;
}

/** What may pass over a family, as ids of sets of connections by the index of the kind. */
interface FamilyCells {
  readonly family: Family;
  readonly ids: Uint32Array;
  /** What is allowed in some worlds, not in all. */
  readonly isAny?: true;
}

function keyOf(cells: readonly FamilyCells[], i: number): number | string {
  if (cells.some(({ isAny }) => isAny)) return String(cells.map(({ ids }) => ids[i]));
  return cells.reduce((sum, { family, ids }) => sum + (ids[i]! + 1) * PLACES[family], 0);
}

/** Where the id of a family is in a key of both. */
const PLACES = { ip: MOST_SETS, ip6: 1 } as const;

function cellOfKind({ pool }: Reach, cells: readonly FamilyCells[], i: number): Cell {
  const of = (isAny: boolean) =>
    cells.flatMap(each =>
      (each.isAny ?? false) === isAny ? [[each.family, pool.byId(each.ids[i]!)] as const] : [],
    );
  const cell: Cell = Object.fromEntries(of(false));
  const undecided = of(true).flatMap(([family, any]) =>
    any === cell[family] ? [] : [[family, pool.minus(any, cell[family]!)] as const],
  );
  return undecided.length === 0 ? cell : { ...cell, undecided: Object.fromEntries(undecided) };
}

/** For each family what is allowed in all worlds in which there can be such pods, and in some of them. */
function allAndAny(worlds: readonly World[], inEach: readonly (readonly FamilyCells[])[]): FamilyCells[] {
  const { pool } = worlds[0]!.reach;
  return inEach[0]!.flatMap(({ family, ids: { length } }, at): FamilyCells[] => {
    const [all, any] = [new Uint32Array(length), new Uint32Array(length)];
    for (let i = 0; i < length; i++) {
      const possible = inEach.filter((_, w) => worlds[w]!.possible.has(i));
      const sets = (possible.length === 0 ? inEach : possible).map(cells => pool.byId(cells[at]!.ids[i]!));
      all[i] = sets.reduce((sum, each) => pool.and(sum, each)).id;
      any[i] = sets.reduce((sum, each) => pool.or(sum, each)).id;
    }
    return [
      { family, ids: all },
      { family, ids: any, isAny: true },
    ];
  });
}

function endsByFamily(places: readonly ReachPlace[]): ReadonlyMap<Family, readonly number[]> {
  const families = FAMILIES.filter(family => places[0]!.ends[family] !== undefined);
  return new Map(families.map(family => [family, places.map(({ ends }) => ends[family]!)]));
}

/** For each family that both have. */
function cellsOf(
  { families }: Reach,
  direction: Direction,
  own: Ends,
  others: ReadonlyMap<Family, readonly number[]>,
): FamilyCells[] {
  return [...others].flatMap(([family, ends]) => {
    const end = own[family];
    return end === undefined ? [] : [{ family, ids: families[family].connectionsOf(direction, end, ends) }];
  });
}

/** The kinds that need a line of their own: those of which the lines of wider kinds say something else. */
function linesOf(reach: Reach, kinds: readonly NewPodKind[], cells: readonly FamilyCells[]): number[] {
  const lines: number[] = [];
  /** For each kind, the narrowest lines that match it. */
  const narrowest: (readonly number[])[] = [];
  for (let i = 0; i < kinds.length; i++) {
    const { wider, alone } = kinds[i]!;
    const first = wider[0];
    const inherited = first === undefined ? NO_LINES : narrowest[first]!;
    const isOne = isSameFor(wider, narrowest, inherited);
    const known = isOne ? inherited : narrowestOf(kinds, wider, narrowest);
    let isNew = false;
    // What the lines say of a wider kind is what it may do.
    for (const { ids } of cells)
      if (ids[i] !== (isOne && first !== undefined ? ids[first] : sumOf(reach, ids, known))) isNew = true;
    if (isNew) lines.push(i);
    narrowest.push(isNew ? alone : known);
  }
  return lines;
}

function isSameFor<T>(indexes: readonly number[], values: readonly T[], value: T): boolean {
  for (let i = 1; i < indexes.length; i++) if (values[indexes[i]!] !== value) return false;
  return true;
}

const NO_LINES: readonly number[] = [];

function narrowestOf(
  kinds: readonly NewPodKind[],
  wider: readonly number[],
  narrowest: readonly (readonly number[])[],
): readonly number[] {
  const all = [...new Set(wider.flatMap(each => narrowest[each]!))];
  return all.filter(line => !all.some(other => kinds[other]!.allWider.has(line)));
}

/** The id of what these lines together let through. */
function sumOf({ pool }: Reach, ids: Uint32Array, lines: readonly number[]): number {
  return lines.reduce((sum, line) => pool.or(sum, pool.byId(ids[line]!)), pool.none).id;
}
