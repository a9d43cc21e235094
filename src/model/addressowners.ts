/**
 * Decides who owns an address that several pods report (N49). Every kubelet can write any address into the status of
 * its own pods. So a node's own knowledge of its pods comes first, then the pod networks that the cluster gave to each
 * node, and only then the age of the pods: the younger pod owns the address, because an address is given out again
 * while the former pod may still report it.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { type Address, cidrContains } from './address.ts';
import { addressesOfNode, type Cluster, isSelectable, type Node, type Pod } from './cluster.ts';
import { podCidrsOf } from './podcidrs.ts';
import { credibleTunnelAddresses } from './tunneladdresses.ts';

/**
 * From whose point of view: a node knows its own pods better than the API does. Without a node, only the API counts.
 */
export interface Standpoint {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly node?: string | undefined;
}

/**
 * The owner of each address of the cluster's selectable pods, as `node` sees it; by default as the node whose agent
 * reported the cluster.
 */
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

/** The addresses of the cluster's pods and nodes, which nothing else can have. */
export function takenAddresses(
  cluster: Cluster,
  owners: ReadonlyMap<Address, Pod> = addressOwners(cluster),
): Set<Address> {
  const ofNodes = [...cluster.nodes.values()].flatMap(node => [
    ...addressesOfNode(node),
    ...credibleTunnelAddresses(node),
  ]);
  return new Set([...owners.keys(), ...ofNodes]);
}

/** The pod that owns one address; undefined if none does. */
export function ownerOf({ pods, nodes, seenBy: node }: Cluster, address: Address): Pod | undefined {
  let owner: Pod | undefined;
  for (const pod of pods.values()) {
    if (!isSelectable(pod) || !pod.addresses.includes(address)) continue;
    if (owner === undefined || ownsAddressOver(pod, owner, address, { nodes, node })) owner = pod;
  }
  return owner;
}

/**
 * Whether `a` rather than `b` owns an address that both report. With equal evidence it is the younger pod, then the one
 * with the greater key.
 */
export function ownsAddressOver(a: Pod, b: Pod, address: Address, standpoint: Standpoint): boolean {
  const better = evidenceFor(a, address, standpoint) - evidenceFor(b, address, standpoint);
  if (better !== 0) return better > 0;
  return a.createdAt === b.createdAt ? a.key > b.key : a.createdAt > b.createdAt;
}

/**
 * Whether an address that a Node lists is a pod's: that of one that owns it and runs on this node, or has it in the pod
 * network of its own node; or that of a pod that is not known, in the pod network of another node, unless its own agent
 * sees it on an interface. So neither the status of a Node nor that of a pod takes an address from whom the cluster gave
 * it.
 */
export function isPodsInstead(
  node: Node | undefined,
  address: Address,
  owner: Pod | undefined,
  nodes: Standpoint['nodes'],
): boolean {
  if (owner !== undefined) return owner.node === node?.name || isInOwnNetwork(owner, address, nodes);
  if (node?.interfaceAddresses?.includes(address)) return false;
  const isIn = (each: Node | undefined) => podCidrsOf(each).some(cidr => cidrContains(cidr, address));
  return !isIn(node) && [...nodes.values()].some(isIn);
}

function isInOwnNetwork(pod: Pod, address: Address, nodes: Standpoint['nodes']): boolean {
  return podCidrsOf(nodes.get(pod.node)).some(cidr => cidrContains(cidr, address));
}

/** How strong the evidence is that the pod's node has the address; equal for pods of one node. */
function evidenceFor(pod: Pod, address: Address, { nodes, node }: Standpoint): number {
  if (node !== undefined && pod.node === node) return 2;
  return isInOwnNetwork(pod, address, nodes) ? 1 : 0;
}

/** An address that pods of several nodes report: all but one of them are wrong. */
export interface ContestedAddress {
  readonly address: Address;
  /** The owner comes first. */
  readonly pods: readonly Pod[];
}

/** The contested addresses, with owners as `node` sees them. */
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

/**
 * Addresses in the status of Nodes that pods have as well, with both (`10.0.0.1: pod shop/db on n1, node n2`), and
 * internal ones of several Nodes (`172.18.0.2: node n1, node n2`). Nodes may share an external address.
 */
export function listedByNodes({ nodes, pods }: Pick<Cluster, 'nodes' | 'pods'>): string[] {
  const listing = new Map<Address, string[]>();
  const internal = new Map<Address, Set<string>>();
  for (const { name, addresses, externalIps } of nodes.values())
    for (const address of addresses) {
      getOrMake(listing, address, () => []).push(`node ${name}`);
      if (!externalIps?.includes(address)) getOrMake(internal, address, () => new Set()).add(`node ${name}`);
    }
  const ofPods = [...pods.values()].filter(isSelectable).flatMap(pod =>
    pod.addresses.flatMap(address => {
      const names = listing.get(address);
      return names === undefined
        ? []
        : [`${address}: pod ${pod.key} on ${pod.node}, ${firstOf(names, MOST_NAMED)}`];
    }),
  );
  const ofNodes = [...internal].filter(([, names]) => names.size > 1);
  return [...ofPods, ...ofNodes.map(([address, names]) => `${address}: ${firstOf([...names], MOST_NAMED)}`)];
}

const MOST_NAMED = 3;
