/** The pairs of units between which another set of connections is allowed than before. */

import { FAMILIES, type Family } from '../../../model/address.ts';
import type { Direction } from '../../../model/policy.ts';
import type { Connections } from '../connections.ts';
import type { Ends } from '../places.ts';
import type { Reach } from '../reach.ts';
import { steadyUnits, touchedUnits } from './steady.ts';
import type { Side, Unit } from './units.ts';

/** For each source the destinations that differ, by index, with a text that is equal where the same opens and closes. */
export function differencesOf(
  old: Side,
  now: Side,
  units: readonly Unit[],
  destinations: readonly Unit[],
  isMeant: (from: Unit, to: Unit) => boolean,
): ReadonlyMap<number, string>[] {
  const isSteady = steadyUnits(old, now, destinations);
  const touched = (direction: Direction) => touchedUnits(old, now, destinations, isSteady, direction);
  const isTouched = { egress: touched('egress'), ingress: touched('ingress') };
  const unsteady = [...destinations.keys()].filter(i => !isSteady[i]);
  const changed = [...destinations.keys()].filter(i => !isSteady[i] || isTouched.egress[i]);
  const [toChanged, toUnsteady] = [changed, unsteady].map(
    some => new Destinations(old, now, destinations, some),
  );
  return units.map((from, i) => {
    // Between two units that are as they were, nothing has changed, and nothing where policies say of one what they said.
    if (isSteady[i] && !isTouched.ingress[i]) return new Map();
    const found = new Map<number, string[]>();
    for (const [j, family, difference] of (isSteady[i] ? toUnsteady! : toChanged!).differing(from))
      if (isMeant(from, destinations[j]!)) found.set(j, [...(found.get(j) ?? []), `${family} ${difference}`]);
    return new Map([...found].map(([j, texts]) => [j, String(texts)]));
  });
}

/** Some destinations, with their ends on both sides. */
class Destinations {
  readonly #sides: readonly [Side, Side];
  readonly #indexes: readonly number[];
  readonly #ends: readonly [SideEnds, SideEnds];

  constructor(old: Side, now: Side, all: readonly Unit[], indexes: readonly number[]) {
    this.#sides = [old, now];
    this.#indexes = indexes;
    const [was, is] = [indexes.map(i => all[i]!.old), indexes.map(i => all[i]!.now)];
    this.#ends = [sideEnds(old.reach, was), sideEnds(now.reach, is)];
  }

  *differing(from: Unit): Generator<[number, Family, string]> {
    const [{ reach: before }, { reach: after }] = this.#sides;
    const { pool } = after;
    for (const family of FAMILIES) {
      const was = idsTo(before, family, from.old, this.#ends[0]);
      const is = idsTo(after, family, from.now, this.#ends[1]);
      for (const [at, i] of this.#indexes.entries()) {
        if (was[at] === is[at]) continue;
        const [a, b] = [pool.byId(was[at]!), pool.byId(is[at]!)];
        yield [i, family, `${pool.minus(b, a).id}/${pool.minus(a, b).id}`];
      }
    }
  }
}

/** The ends of destinations on one side: all of them, and by family the only one that each has, or ABSENT. */
interface SideEnds {
  readonly all: readonly (readonly Ends[])[];
  readonly only: Readonly<Record<Family, readonly number[]>>;
  /** The ids of what is allowed to those; nobody reads that of the absent ones. */
  readonly idsOf: Readonly<Record<Family, (own: number) => Uint32Array>>;
  /** The indexes of those that have several ends. */
  readonly several: readonly number[];
}

const ABSENT = -1;

function sideEnds({ families }: Reach, all: readonly (readonly Ends[])[]): SideEnds {
  const onlyOf = (family: Family) =>
    all.map(ends => (ends.length === 1 ? (ends[0]![family] ?? ABSENT) : ABSENT));
  const only = { ip: onlyOf('ip'), ip6: onlyOf('ip6') };
  const idsOf = (family: Family) =>
    families[family].connectionsWith(
      'egress',
      only[family].map(end => (end === ABSENT ? 0 : end)),
    );
  const several = all.flatMap((ends, i) => (ends.length > 1 ? [i] : []));
  return { all, only, idsOf: { ip: idsOf('ip'), ip6: idsOf('ip6') }, several };
}

/** The ids of what is allowed to each destination. */
function idsTo(
  reach: Reach,
  family: Family,
  from: readonly Ends[],
  { all, only, idsOf, several }: SideEnds,
): Uint32Array {
  const own = from.length === 1 ? from[0]![family] : undefined;
  if (own === undefined) return Uint32Array.from(all, to => between(reach, family, from, to).id);
  const ids = idsOf[family](own);
  for (let i = 0; i < ids.length; i++) if (only[family][i] === ABSENT) ids[i] = reach.pool.none.id;
  for (const i of several) ids[i] = between(reach, family, from, all[i]!).id;
  return ids;
}

/**
 * The connections that are allowed from some pods of one unit to some pods of the other; between single ends, exactly
 * these connections.
 */
export function between(
  { pool, families }: Reach,
  family: Family,
  from: readonly Ends[],
  to: readonly Ends[],
): Connections {
  let sum = pool.none;
  for (const source of from)
    for (const destination of to) {
      const [a, b] = [source[family], destination[family]];
      if (a !== undefined && b !== undefined) sum = pool.or(sum, families[family].connections(a, b));
    }
  return sum;
}
