/**
 * Names of the DNS that are compared: each class of names, in as many parts as the policies of either cluster make of the
 * addresses behind them, for the workloads that have a rule by such a name in either.
 */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Family } from '../../../model/address.ts';
import type { JudgedPeers } from '../cases.ts';
import { placesOfClass, regionGroups, type Teller } from '../domains.ts';
import { familiesOf, type ReachPlace, workloadOfMember } from '../place.ts';
import type { Side } from './side.ts';
import type { Unit } from './units.ts';

export function domainUnits(old: Side, now: Side): Unit[] {
  const sides = [old, now] as const;
  return old.reach.landscape.names.flatMap((_, nameClass) => {
    const resolving = new Set(sides.flatMap(side => workloadsResolving(side, nameClass)));
    if (resolving.size === 0) return [];
    const groups = new Map(
      familiesOf(now.reach).map(family => {
        const tellers = sides.map(side => tellerOf(side, family, nameClass, resolving));
        const teller: Teller = region => tellers.map(tell => tell(region)).join('|');
        return [family, regionGroups([old.reach, now.reach], family, teller)] as const;
      }),
    );
    const [before, after] = sides.map(({ reach }) => placesOfClass(reach, nameClass, groups));
    return before!.map((place, i) => unitOf(place, after![i]!));
  });
}

/** Of one side the workloads with a rule by such a name. */
function workloadsResolving(side: Side, nameClass: number): string[] {
  const { reach, crowd, places } = side;
  const mayResolve = ({ ends }: ReachPlace) =>
    (Object.entries(ends) as [Family, number][]).some(([family, end]) =>
      reach.families[family].mayResolve(end, nameClass),
    );
  return places
    .filter(mayResolve)
    .flatMap(({ members }) => members.flatMap(each => workloadOfMember(crowd, each) ?? []));
}

/** Who decides what for these workloads, at an address of a region that has the name. */
function tellerOf(
  { reach, crowd, places }: Side,
  family: Family,
  nameClass: number,
  workloads: ReadonlySet<string>,
): Teller {
  const { ends } = reach.families[family];
  const isMeant = ({ members }: ReachPlace) =>
    members.some(each => workloads.has(workloadOfMember(crowd, each) ?? ''));
  const sources = new Set(places.filter(isMeant).flatMap(place => place.ends[family] ?? []));
  const numbers = new Map<JudgedPeers | undefined, number>();
  const numberOf = (source: number, end: number) => {
    const group = reach.families[family].group('egress', source, end);
    return getOrMake(numbers, group, () => numbers.size);
  };
  return region => {
    const named = ends.named(ends.outside[region]!, nameClass);
    return [...sources].map(source => numberOf(source, named)).join();
  };
}

function unitOf(before: ReachPlace, after: ReachPlace): Unit {
  const members = after.members.flatMap(member => (member.kind === 'domain' ? [member] : []));
  return { old: [before.ends], now: [after.ends], members };
}
