/** The ends of a matrix: pods, nodes and networks by the pair of what they are over IPv4 and over IPv6. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Address, type Family, familyOf } from '../../model/address.ts';
import { isSelectable, type Pod } from '../../model/cluster.ts';
import { type Ends, familiesOf, type Member, type ReachPlace } from './place.ts';
import type { Reach } from './reach.ts';
import { addressCount } from './regions.ts';

/** All of them but what is imagined. */
export function reachPlaces(reach: Reach): ReachPlace[] {
  const { cluster, owners } = reach.landscape;
  const owned = ({ addresses }: Pod, pod: Pod) => addresses.filter(address => owners.get(address) === pod);
  const pods = [...cluster.pods.values()].filter(isSelectable);
  return joined([
    ...pods.flatMap(pod =>
      byPairs(owned(pod, pod)).map((addresses): ReachPlace => {
        const member = { kind: 'pod', pod, addresses } as const;
        return { ends: endsOf(reach, addresses), members: [member] };
      }),
    ),
    ...[...cluster.nodes.values()].flatMap(node =>
      byPairs(node.addresses.filter(address => !owners.has(address))).map((addresses): ReachPlace => {
        const member = { kind: 'node', node, addresses } as const;
        return { ends: endsOf(reach, addresses), members: [member] };
      }),
    ),
    ...outsideOf(reach),
  ]);
}

/** Each imagined pod by itself, over the families that the cluster's pods have. */
export function imaginedPlaces(reach: Reach): ReachPlace[] {
  const families = familiesOf(reach);
  return reach.landscape.imagined.map((_, index) => ({
    ends: Object.fromEntries(
      families.map(family => [family, reach.families[family].ends.imagined[index]!]),
    ) as Ends,
    members: [{ kind: 'imagined', index }],
  }));
}

/** An IPv4 address with an IPv6 address, as long as there are some of both. */
function byPairs(addresses: readonly Address[]): Address[][] {
  const of = (family: Family) => addresses.filter(address => familyOf(address) === family);
  const [v4, v6] = [of('ip'), of('ip6')];
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, i) =>
    [v4[i], v6[i]].filter(address => address !== undefined),
  );
}

function endsOf({ families }: Reach, addresses: readonly Address[]): Ends {
  return Object.fromEntries(
    addresses.map(address => [familyOf(address), families[familyOf(address)].ends.at(address)]),
  );
}

export function joined(places: readonly ReachPlace[]): ReachPlace[] {
  const found = new Map<string, { ends: Ends; members: Member[] }>();
  for (const { ends, members } of places)
    getOrMake(found, `${ends.ip}/${ends.ip6}`, () => ({ ends, members: [] })).members.push(...members);
  return [...found.values()];
}

/** The networks outside: the regions that hold more than the addresses of known pods and nodes. */
function outsideOf(reach: Reach): ReachPlace[] {
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
