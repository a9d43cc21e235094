/** N72: where tunnels between nodes may end, and which addresses belong to nodes and pods. N75: where they begin. */
import { getOrMake } from '../lib/collections/getormake.ts';
import type { Address } from '../model/address.ts';
import type { Cluster, Node, NodeLinks } from '../model/cluster.ts';
import { tunnelNodes, unlistedAddresses } from '../model/tunneladdresses.ts';
import { tunnelEnds } from '../model/tunnels.ts';
import { podNetworkFinder } from './unknownpods.ts';

export interface TunnelFinders {
  /** The node whose tunnels may end at the address, as all nodes know it. */
  endAt(address: Address): Node | undefined;
  /** Whether the address is in the status of a node. */
  isListed(address: Address): boolean;
  /** Whether the address is in the pod networks of any node. */
  isInPodNetworks(address: Address): boolean;
  /**
   * A node's own tunnels, and whether its pods may use tunnels. A node whose links are not known is assumed to have
   * those of one that is known, because an overlay is the same on every node.
   */
  linksOf(node: Node | undefined): TunnelLinks;
}

export type TunnelLinks = Pick<NodeLinks, 'tunnels' | 'podTunnels'>;

/** For a cluster whose nodes do not change. */
export function tunnelFinders({ nodes }: Cluster): TunnelFinders {
  const ends = new Map<Address, Node>();
  for (const node of nodes.values()) for (const address of tunnelEnds(node)) ends.set(address, node);
  // If several nodes have an address, one that has it in its status takes precedence.
  const listed = new Set<Address>();
  for (const node of nodes.values())
    for (const address of node.addresses) {
      ends.set(address, node);
      listed.add(address);
    }
  const nodeOfNetwork = podNetworkFinder(nodes.values());
  const seen = [...nodes.values()].find(({ links }) => links !== undefined)?.links ?? {};
  return {
    linksOf: node => node?.links ?? seen,
    endAt: address => ends.get(address),
    isListed: address => listed.has(address),
    isInPodNetworks: address => nodeOfNetwork(address) !== undefined,
  };
}

/** The nodes whose annotations say that they have a tunnel, where no agent saw of which kind. */
export function unseenTunnelNodes({ nodes }: Cluster): readonly Node[] {
  const all = [...nodes.values()];
  if (all.some(({ links }) => links !== undefined)) return [];
  return all.filter(({ tunnelAddresses }) => tunnelAddresses !== undefined);
}

/**
 * N75: finds the node that sends from an address into its tunnel, in a cluster whose nodes do not change. `owners` is
 * asked each time, because pods may.
 */
export function tunnelNodeFinder(
  { nodes }: Cluster,
  owners: { has(address: Address): boolean },
): (address: Address) => Node | undefined {
  const found = tunnelNodes(nodes.values());
  return address => (owners.has(address) ? undefined : found.get(address));
}

/**
 * C59: finds the nodes of an address, in a cluster whose nodes do not change: those that have it in their status and,
 * unless a pod has it, those that have it without. `owners` is asked each time, because pods may change.
 */
export function nodesFinder(
  { nodes }: Cluster,
  owners: { has(address: Address): boolean },
): (address: Address) => readonly Node[] {
  let known: ReadonlyMap<Address, readonly Node[]> | undefined;
  return address => {
    known ??= nodesByAddress([...nodes.values()]);
    const found = known.get(address) ?? NONE;
    return owners.has(address) ? found.filter(node => node.addresses.includes(address)) : found;
  };
}

function nodesByAddress(nodes: readonly Node[]): ReadonlyMap<Address, readonly Node[]> {
  const found = new Map<Address, Node[]>();
  for (const node of nodes)
    for (const address of [...node.addresses, ...unlistedAddresses(node)])
      getOrMake(found, address, () => []).push(node);
  for (const [address, node] of tunnelNodes(nodes)) {
    const others = getOrMake(found, address, () => []);
    if (!others.includes(node)) others.push(node);
  }
  return found;
}

const NONE: readonly Node[] = [];
