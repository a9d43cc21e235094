/** The networks outside: the regions that hold more than the addresses of known pods and nodes. */
import { type Address, type Family, familyOf } from '../../model/address.ts';
import { familiesOf, type ReachPlace } from './place.ts';
import type { Reach } from './reach.ts';
import { addressCount } from './regions.ts';

export function outsideOf(reach: Reach): ReachPlace[] {
  return familiesOf(reach).flatMap(family => outsideOfFamily(reach, family));
}

/** Regions that are the same to every policy, as unknown pods are, are one end. */
function outsideOfFamily(reach: Reach, family: Family): ReachPlace[] {
  const { outside } = reach.families[family].ends;
  return outsideRegions(reach, family).map(region => ({
    ends: { [family]: outside[region]! },
    members: [{ kind: 'network', regions: { [family]: region } }],
  }));
}

/** By their index. */
export function outsideRegions({ families, landscape }: Reach, family: Family): number[] {
  const { ends } = families[family];
  const taken = new Map<number, bigint>();
  const known = new Set<Address>([...landscape.owners.keys(), ...landscape.nodes.keys()]);
  for (const address of known) {
    if (familyOf(address) !== family) continue;
    const region = ends.regions.at(address);
    taken.set(region, (taken.get(region) ?? 0n) + 1n);
  }
  return ends.regions.all.flatMap((found, region) =>
    addressCount(found) <= (taken.get(region) ?? 0n) ? [] : [region],
  );
}
