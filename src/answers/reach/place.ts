/** An end of a matrix: pods, nodes or networks that are the same over IPv4 and over IPv6. */
import { type Address, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import type { Node, Pod } from '../../model/cluster.ts';
import type { Reach } from './reach.ts';

/** Indexes of the ends of each family; absent where it has no address of the family. */
export type Ends = Partial<Record<Family, number>>;

export type Member =
  | { readonly kind: 'pod'; readonly pod: Pod; readonly addresses: readonly Address[] }
  /** By its index among those that the reach was asked about. */
  | { readonly kind: 'imagined'; readonly index: number }
  | { readonly kind: 'node'; readonly node: Node; readonly addresses: readonly Address[] }
  /** The region of each family. */
  | { readonly kind: 'network'; readonly regions: Ends }
  | DomainMember;

/** Addresses of these regions, told under a name of the class. */
export interface DomainMember {
  readonly kind: 'domain';
  readonly nameClass: number;
  readonly regions: Partial<Record<Family, readonly number[]>>;
}

export interface ReachPlace {
  readonly ends: Ends;
  readonly members: readonly Member[];
}

/** Of its pods; both where there is none. */
export function familiesOf({ landscape }: Reach): readonly Family[] {
  const found = new Set([...landscape.owners.keys()].map(familyOf));
  return found.size === 0 ? FAMILIES : FAMILIES.filter(family => found.has(family));
}

/** Names of nodes that several of these have: policy tells their addresses apart. */
export function nodesOfSeveral(
  places: readonly { readonly members: readonly Member[] }[],
): ReadonlySet<string> {
  const [once, several] = [new Set<string>(), new Set<string>()];
  for (const { members } of places) {
    const names = members.flatMap(member => (member.kind === 'node' ? [member.node.name] : []));
    for (const name of new Set(names)) (once.has(name) ? several : once).add(name);
  }
  return several;
}
