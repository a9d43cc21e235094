/** Units of which nothing has changed: between two of them nothing can open or close. */

import { FAMILIES, type Family } from '../../../model/address.ts';
import type { Direction, PolicyId } from '../../../model/policy.ts';
import { changedPolicies, type Side, type Unit } from './units.ts';

/** Whether each unit has the same policies, and is the same to the peers of policies. */
export function steadyUnits(old: Side, now: Side, units: readonly Unit[]): boolean[] {
  if (old.reach.clusterIndex.templates === now.reach.clusterIndex.templates)
    return units.map(
      unit => isSingle(unit) && FAMILIES.every(family => hasSamePolicies(old, now, family, unit)),
    );
  const [before, after] = [old.reach.clusterIndex.cluster, now.reach.clusterIndex.cluster];
  // What nodes have decides about tunnels and about pods that are not known, at many ends.
  if (JSON.stringify([...before.nodes]) !== JSON.stringify([...after.nodes])) return units.map(() => false);
  const changed = changedPolicies(old, now);
  return units.map(
    unit => isSingle(unit) && FAMILIES.every(family => isSameEnd(old, now, changed, family, unit)),
  );
}

/** For each unit, whether policies on units that are not steady allow it other connections than before. */
export function touchedUnits(
  old: Side,
  now: Side,
  units: readonly Unit[],
  isSteady: readonly boolean[],
  direction: Direction,
): boolean[] {
  const others = units.filter((_, i) => !isSteady[i]);
  const isSamePlace = old.reach.clusterIndex.templates === now.reach.clusterIndex.templates;
  if (!isSamePlace || !others.every(hasSameEnds)) return units.map(() => true);
  const marks = FAMILIES.map(family => {
    const [before, after] = [old.reach.families[family], now.reach.families[family]];
    const found = new Uint8Array(after.ends.all.length);
    for (const unit of others) {
      const end = unit.now[0]![family];
      if (end !== undefined && end < found.length) after.markDiffering(direction, end, before, found);
    }
    return [family, found] as const;
  });
  // An end with a name is beyond the others: what policies say of it is judged apart.
  const isTouched = ([family, found]: (typeof marks)[number], { now: [ends] }: Unit) =>
    ends?.[family] !== undefined && found[ends[family]] !== 0;
  return units.map(unit => marks.some(each => isTouched(each, unit)));
}

function hasSameEnds(unit: Unit): boolean {
  return isSingle(unit) && FAMILIES.every(family => unit.old[0]![family] === unit.now[0]![family]);
}

function isSingle({ old, now }: Unit): boolean {
  return old.length === 1 && now.length === 1;
}

/** Where all ends are the same in both. */
function hasSamePolicies(old: Side, now: Side, family: Family, unit: Unit): boolean {
  const [a, b] = [unit.old[0]![family], unit.now[0]![family]];
  if (a === undefined || a !== b) return a === b;
  const [before, after] = [old.reach.families[family], now.reach.families[family]];
  return before.policiesOn(a) === after.policiesOn(a);
}

function isSameEnd(
  old: Side,
  now: Side,
  changed: ReadonlySet<PolicyId>,
  family: Family,
  unit: Unit,
): boolean {
  const [a, b] = [unit.old[0]![family], unit.now[0]![family]];
  if (a === undefined || b === undefined) return a === b;
  const [before, after] = [old.reach.families[family].described(a), now.reach.families[family].described(b)];
  return before.text === after.text && !after.policies.some(id => changed.has(id));
}
