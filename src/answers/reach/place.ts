/** An end of a matrix: pods, nodes or networks that are the same over IPv4 and over IPv6. */
import { type Address, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import { type Cluster, isSelectable, type Node, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import { podsByWorkload, topWorkloads } from '../../model/workloadof.ts';
import type { Connections } from './connections.ts';
import type { ImaginedPod } from './landscape.ts';
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

// What may pass between two places, over each family that both have.

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
    ends.nameClassOf(source) !== undefined ||
    (nameClass !== undefined && !reach.mayResolve(source, nameClass));
  return isNobodys ? pool.none : reach.connections(source, destination);
}

const MOST_SETS = 2 ** 26;

/** Whom a matrix is about: the workloads of a cluster, with the pods that they have, or as their templates would make them. */
export interface Crowd {
  /** Pods without an address, and templates of workloads without pods. */
  readonly imagined: readonly (ImaginedPod & { readonly workload: string })[];
  /** The workload of each pod: `Deployment shop/web`, `Pod shop/web`. */
  readonly workloadOf: ReadonlyMap<Pod, string>;
}

export function crowdOf(cluster: Cluster, inventory: Inventory): Crowd {
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

/** Undefined for what is no pod. */
export function workloadOfMember({ imagined, workloadOf }: Crowd, member: Member): string | undefined {
  if (member.kind === 'pod') return workloadOf.get(member.pod);
  return member.kind === 'imagined' ? imagined[member.index]!.workload : undefined;
}
