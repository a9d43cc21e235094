/** The ends of a matrix: pods, nodes and networks by the pair of what they are over IPv4 and over IPv6. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { pushAll } from '../../lib/collections/pushall.ts';
import { type Address, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import { type Cluster, isSelectable, type Node, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import { unlistedAddresses } from '../../model/tunneladdresses.ts';
import { podsByWorkload, topWorkloads } from '../../model/workloadof.ts';
import type { ClusterIndex, ImaginedPod } from './clusterindex.ts';
import type { Connections } from './connections.ts';
import type { Reach } from './reach.ts';
import { addressCount } from './regions.ts';

/** All existing places, without imagined pods. */
export function reachPlaces(reach: Reach): ReachPlace[] {
  const { cluster, owners, tunnelNodeAt } = reach.clusterIndex;
  const ofNode = (node: Node) => [
    ...node.addresses.filter(address => !owners.has(address)),
    ...(node.tunnelAddresses ?? []).filter(
      address => tunnelNodeAt(address) === node && !node.addresses.includes(address),
    ),
  ];
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
      [ofNode(node), unlistedOf(reach, node)].flatMap(byPairs).map((addresses): ReachPlace => {
        const member = { kind: 'node', node, addresses } as const;
        return { ends: endsOf(reach, addresses), members: [member] };
      }),
    ),
    ...outsideOf(reach),
  ]);
}

/**
 * Addresses that only rules mean which deny or pass the node (C59). Where there are no such rules, policy treats these as
 * others of their network; where unknown pods are denied, they are denied as such.
 */
function unlistedOf({ clusterIndex }: Reach, node: Node): readonly Address[] {
  const { owners, tunnelNodeAt, deniesNodes, nodeDenyingUnknownPod } = clusterIndex;
  if (!deniesNodes) return [];
  return unlistedAddresses(node).filter(
    address =>
      !owners.has(address) &&
      tunnelNodeAt(address) === undefined &&
      nodeDenyingUnknownPod(address) === undefined,
  );
}

/** A place for each imagined pod, in the families that the cluster's pods have. */
export function imaginedPlaces(reach: Reach): ReachPlace[] {
  const families = familiesOf(reach);
  return reach.clusterIndex.imagined.map((_, index) => ({
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

export function endsOf({ families }: Reach, addresses: readonly Address[]): Ends {
  return Object.fromEntries(
    addresses.map(address => [familyOf(address), families[familyOf(address)].ends.at(address)]),
  );
}

export function joined(places: readonly ReachPlace[]): ReachPlace[] {
  const found = new Map<string, { ends: Ends; members: Member[] }>();
  for (const { ends, members } of places) {
    const own = getOrMake(found, `${ends.ip}/${ends.ip6}`, () => ({ ends, members: [] })).members;
    pushAll(own, members);
  }
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

function* listedNodeAddresses({ nodes, deniesNodes }: ClusterIndex): Generator<Address> {
  for (const [address, { isGuess }] of nodes) if (!isGuess || deniesNodes) yield address;
}

/** The regions outside of pods and nodes, by their index. */
export function outsideRegions({ families, clusterIndex }: Reach, family: Family): number[] {
  const { ends } = families[family];
  const taken = new Map<number, bigint>();
  const known = new Set<Address>([...clusterIndex.owners.keys(), ...listedNodeAddresses(clusterIndex)]);
  for (const address of known) {
    if (familyOf(address) !== family) continue;
    const region = ends.regions.at(address);
    taken.set(region, (taken.get(region) ?? 0n) + 1n);
  }
  return ends.regions.all.flatMap((found, region) =>
    addressCount(found) <= (taken.get(region) ?? 0n) ? [] : [region],
  );
}

// An end of a matrix: pods, nodes or networks that are the same over IPv4 and over IPv6.

/** Indexes of the ends of each family; absent where it has no address of the family. */
export type Ends = Partial<Record<Family, number>>;

export type Member =
  | { readonly kind: 'pod'; readonly pod: Pod; readonly addresses: readonly Address[] }
  /** The index among the imagined pods of the question. */
  | { readonly kind: 'imagined'; readonly index: number }
  | { readonly kind: 'node'; readonly node: Node; readonly addresses: readonly Address[] }
  /** The region of each family. */
  | { readonly kind: 'network'; readonly regions: Ends }
  | DomainMember;

/** Addresses of these regions, which pods have by a name of the class. */
export interface DomainMember {
  readonly kind: 'domain';
  readonly nameClass: number;
  readonly regions: Partial<Record<Family, readonly number[]>>;
}

export interface ReachPlace {
  readonly ends: Ends;
  readonly members: readonly Member[];
}

/** The address families of its pods; both if it has no pods. */
export function familiesOf({ clusterIndex }: Reach): readonly Family[] {
  const found = new Set([...clusterIndex.owners.keys()].map(familyOf));
  return found.size === 0 ? FAMILIES : FAMILIES.filter(family => found.has(family));
}

/** Nodes that occur in several of these, because policy distinguishes their addresses. */
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

// What may pass between two places, over each family that both have.

/** Absent where one of the two has no address of the family. */
export type Cell = Partial<Record<Family, Connections>> & {
  /** What is allowed or not by labels or addresses that are not known. */
  readonly undecided?: Partial<Record<Family, Connections>>;
};

export function cellOf(reach: Reach, from: Ends, to: Ends): Cell {
  const cell: Partial<Record<Family, Connections>> = {};
  for (const family of FAMILIES) {
    const [source, destination] = [from[family], to[family]];
    if (source !== undefined && destination !== undefined)
      cell[family] = passing(reach, family, source, destination);
  }
  return cell;
}

/** For a source, and each destination, until the next one is asked for, a number that is equal for equal cells; 0 if the two ends share no family. */
export function cellKeysTo(reach: Reach, to: readonly Ends[]): (from: Ends) => Float64Array {
  const rows = FAMILIES.map(family => [family, passingTo(reach, family, to)] as const);
  const keys = new Float64Array(to.length);
  return from => {
    keys.fill(0);
    for (const [family, idsOf] of rows) {
      const source = from[family];
      const ids = source === undefined ? undefined : idsOf(source);
      for (let i = 0; i < to.length; i++)
        keys[i] =
          keys[i]! * MOST_SETS + (ids !== undefined && to[i]![family] !== undefined ? ids[i]! + 1 : 0);
    }
    return keys;
  };
}

function passingTo(reach: Reach, family: Family, to: readonly Ends[]): (source: number) => Uint32Array {
  const of = reach.families[family];
  const { length } = of.ends.all;
  // Nobody reads what passes to an end that has no address of the family.
  const others = to.map(each => each[family] ?? 0);
  // Ends with names are numbered beyond those without.
  const named = [...others.keys()].filter(i => others[i]! >= length);
  const idsOf = of.connectionsWith(
    'egress',
    others.map(other => of.ends.bare(other)),
  );
  return source => {
    if (source >= length) return new Uint32Array(to.length);
    const ids = idsOf(source);
    for (const i of named) ids[i] = passing(reach, family, source, others[i]!).id;
    return ids;
  };
}

/** An address has a name only for pods that DNS gave it to: for others it is an address of its network. */
function passing(
  { pool, families }: Reach,
  family: Family,
  source: number,
  destination: number,
): Connections {
  const reach = families[family];
  const { ends } = reach;
  const nameClass = ends.nameClassOf(destination);
  const isImpossible =
    ends.nameClassOf(source) !== undefined ||
    (nameClass !== undefined && !reach.mayResolve(source, nameClass));
  return isImpossible ? pool.none : reach.connections(source, destination);
}

export const MOST_SETS = 2 ** 26;

/** The workloads of a cluster, with their pods, or with the pod that their template would make. */
export interface Workloads {
  /** Pods without an address, and templates of workloads without pods. */
  readonly imagined: readonly (ImaginedPod & { readonly workload: string })[];
  /** The workload of each pod: `Deployment shop/web`, `Pod shop/web`. */
  readonly workloadOf: ReadonlyMap<Pod, string>;
}

export function workloadsIn(cluster: Cluster, inventory: Inventory): Workloads {
  const workloads = podsByWorkload(cluster, inventory);
  const workloadOf = new Map([...workloads].flatMap(([id, pods]) => pods.map(pod => [pod, id] as const)));
  const pending = [...workloadOf].filter(([pod]) => isSelectable(pod) && pod.addresses.length === 0);
  const without = topWorkloads(inventory).filter(({ id, hostNetwork }) => !workloads.has(id) && !hostNetwork);
  const imagine = (workload: string, { namespace, ...pod }: PodOrTemplate) => ({
    ...pod,
    namespace: namespaceOf(cluster, namespace),
    workload,
  });
  return {
    imagined: [
      ...pending.map(([pod, workload]) => imagine(workload, pod)),
      ...without.map(workload => imagine(workload.id, workload)),
    ],
    workloadOf,
  };
}

interface PodOrTemplate {
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: Pod['ports'];
}

/** Undefined if the member is not a pod. */
export function workloadOfMember({ imagined, workloadOf }: Workloads, member: Member): string | undefined {
  if (member.kind === 'pod') return workloadOf.get(member.pod);
  return member.kind === 'imagined' ? imagined[member.index]!.workload : undefined;
}
