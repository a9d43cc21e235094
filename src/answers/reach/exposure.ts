/** Which pods that are not there yet could reach workloads, and be reached by them. */

import { isSameList } from '../../lib/collections/samelist.ts';
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
  const lines = new LineFinder(reach, kinds);
  for (const direction of ['ingress', 'egress'] as const) {
    const withOthers = worlds.map(world => cellsWith(world, direction));
    /** By the kind, and by the cell. */
    const known = kinds.map(() => new Map<number | string, Exposure & { places: number[] }>());
    for (const [place, { ends, members }] of places.entries()) {
      const inEach = worlds.map((world, w) => withOthers[w]!(w === 0 ? ends : endsIn(world, members)));
      const cells = inEach.length === 1 ? inEach[0]! : allAndAny(worlds, inEach);
      for (const i of lines.of(cells)) {
        const key = keyOf(cells, i);
        const line = known[i]!.get(key);
        if (line !== undefined) line.places.push(place);
        else {
          const whom = kinds[i]!.selector;
          found.push({ direction, places: [place], whom, cell: cellOfKind(reach, cells, i) });
          known[i]!.set(key, found.at(-1)!);
        }
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
  let sum = 0;
  for (const { family, ids, isAny } of cells) {
    if (isAny) return String(cells.map(each => each.ids[i]));
    sum += (ids[i]! + 1) * PLACES[family];
  }
  return sum;
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

/** What may pass between a place and the new pods of each kind, for each family that the place has. */
function cellsWith({ reach, others }: World, direction: Direction): (own: Ends) => FamilyCells[] {
  const families = FAMILIES.filter(family => others[0]!.ends[family] !== undefined);
  const rows = families.map(family => {
    const ends = others.map(each => each.ends[family]!);
    return [family, reach.families[family].connectionsWith(direction, ends)] as const;
  });
  return own =>
    rows.flatMap(([family, idsOf]) => {
      const end = own[family];
      return end === undefined ? [] : [{ family, ids: idsOf(end) }];
    });
}

/** Finds the kinds that need a line of their own: those of which the lines of wider kinds say something else. */
class LineFinder {
  readonly #pool: Reach['pool'];
  readonly #kinds: readonly NewPodKind[];
  /** For each kind, the narrowest lines that match it. */
  readonly #narrowest: (readonly number[])[];

  constructor({ pool }: Reach, kinds: readonly NewPodKind[]) {
    this.#pool = pool;
    this.#kinds = kinds;
    this.#narrowest = kinds.map(() => NO_LINES);
  }

  of(cells: readonly FamilyCells[]): number[] {
    const all = differing(cells);
    const lines: number[] = [];
    for (let i = 0; i < this.#kinds.length; i++) {
      const { wider, alone } = this.#kinds[i]!;
      const known = this.#inherited(wider);
      let isNew = false;
      for (let family = 0; family < all.length && !isNew; family++)
        isNew = this.#isOther(all[family]!, i, known);
      if (isNew) lines.push(i);
      this.#narrowest[i] = isNew ? alone : known;
    }
    return lines;
  }

  /** The lines that match a kind, as those of wider kinds do. */
  #inherited(wider: readonly number[]): readonly number[] {
    if (wider.length === 0) return NO_LINES;
    const first = this.#narrowest[wider[0]!]!;
    return wider.length === 1 || isSameFor(wider, this.#narrowest, first) ? first : this.#narrowestOf(wider);
  }

  /** Whether the kind may do something else than these lines say. */
  #isOther(ids: Uint32Array, kind: number, lines: readonly number[]): boolean {
    const said = lines.length === 1 ? ids[lines[0]!]! : this.#sumOf(ids, lines);
    return ids[kind] !== said;
  }

  #narrowestOf(wider: readonly number[]): readonly number[] {
    const all: number[] = [];
    for (const each of wider)
      for (const line of this.#narrowest[each]!) if (!all.includes(line)) all.push(line);
    const found = all.filter(line => !all.some(other => this.#kinds[other]!.allWider.has(line)));
    // The same lines are one list, so that narrower kinds need not ask again.
    const same = wider.find(each => isSameList(this.#narrowest[each]!, found));
    return same === undefined ? found : this.#narrowest[same]!;
  }

  /** The id of what these together let through. */
  #sumOf(ids: Uint32Array, lines: readonly number[]): number {
    const pool = this.#pool;
    return lines.reduce((sum, line) => pool.or(sum, pool.byId(ids[line]!)), pool.none).id;
  }
}

const NO_LINES: readonly number[] = [];

/** The ids, without those of a family that are the same as another's: pods of both families have most of them twice. */
function differing(cells: readonly FamilyCells[]): Uint32Array[] {
  const all: Uint32Array[] = [];
  for (const { ids } of cells) if (!all.some(other => isSameList(other, ids))) all.push(ids);
  return all;
}

function isSameFor<T>(indexes: readonly number[], values: readonly T[], value: T): boolean {
  for (let i = 1; i < indexes.length; i++) if (values[indexes[i]!] !== value) return false;
  return true;
}
