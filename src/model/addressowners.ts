/**
 * Who owns an address that several pods report (N49). Every kubelet writes what it likes into its own pods: so what a
 * node knows of its own pods comes first, then what the cluster gave to which node, and only then the younger pod, for
 * an address that is given out again may still be named by the pod that had it before.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, cidrContains } from './address.ts';
import { addressesOfNode, type Cluster, isSelectable, type Node, type Pod } from './cluster.ts';
import { podCidrsOf } from './podcidrs.ts';

/** Who is asked: everybody who has no better knowledge than the API's, or a node, which knows its own pods. */
export interface Standpoint {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly node?: string | undefined;
}

/** Who owns each address of the cluster's selectable pods, as `node` sees it: by default the one whose word it all is. */
export function addressOwners(
  { pods, nodes, seenBy }: Cluster,
  node: string | undefined = seenBy,
): Map<Address, Pod> {
  const owners = new Map<Address, Pod>();
  for (const pod of pods.values()) {
    if (!isSelectable(pod)) continue;
    for (const address of pod.addresses) {
      const other = owners.get(address);
      if (other === undefined || ownsAddressOver(pod, other, address, { nodes, node }))
        owners.set(address, pod);
    }
  }
  return owners;
}

/** The addresses of the cluster's pods and nodes, which nothing else may have. */
export function takenAddresses(
  cluster: Cluster,
  owners: ReadonlyMap<Address, Pod> = addressOwners(cluster),
): Set<Address> {
  return new Set([...owners.keys(), ...[...cluster.nodes.values()].flatMap(addressesOfNode)]);
}

/** The pod that owns one address, if any does. */
export function ownerOf({ pods, nodes, seenBy: node }: Cluster, address: Address): Pod | undefined {
  let owner: Pod | undefined;
  for (const pod of pods.values()) {
    if (!isSelectable(pod) || !pod.addresses.includes(address)) continue;
    if (owner === undefined || ownsAddressOver(pod, owner, address, { nodes, node })) owner = pod;
  }
  return owner;
}

/** Whether `a` rather than `b` owns an address that both report; of two of one node the younger, then the greater key. */
export function ownsAddressOver(a: Pod, b: Pod, address: Address, standpoint: Standpoint): boolean {
  const better = evidenceFor(a, address, standpoint) - evidenceFor(b, address, standpoint);
  if (better !== 0) return better > 0;
  return a.createdAt === b.createdAt ? a.key > b.key : a.createdAt > b.createdAt;
}

/** Of pods of one node it is the same. */
function evidenceFor(pod: Pod, address: Address, { nodes, node }: Standpoint): number {
  if (node !== undefined && pod.node === node) return 2;
  return podCidrsOf(nodes.get(pod.node)).some(cidr => cidrContains(cidr, address)) ? 1 : 0;
}

/** An address that pods of several nodes report: all but one of them are mistaken, or lie. */
export interface ContestedAddress {
  readonly address: Address;
  /** The owner first. */
  readonly pods: readonly Pod[];
}

/** As `node` sees them. */
export function contestedAddresses(cluster: Cluster, node?: string): ContestedAddress[] {
  const owners = addressOwners(cluster, node);
  const others = new Map<Address, Pod[]>();
  for (const pod of cluster.pods.values()) {
    if (!isSelectable(pod)) continue;
    for (const address of pod.addresses) {
      if (owners.get(address)!.node === pod.node) continue;
      getOrMake(others, address, () => []).push(pod);
    }
  }
  return [...others].map(([address, pods]) => ({ address, pods: [owners.get(address)!, ...pods] }));
}
