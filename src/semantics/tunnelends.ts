/** N72: where tunnels between nodes may end, and who may send there. */
import type { Address } from '../model/address.ts';
import type { Cluster, Node, NodeLinks } from '../model/cluster.ts';
import { tunnelEnds } from '../model/tunnels.ts';
import { podNetworkFinder } from './unknownpods.ts';

export interface TunnelFinders {
  /** The node at which a tunnel may end, as all nodes know it. */
  endAt(address: Address): Node | undefined;
  /** Whether a node has it by its status. */
  isListed(address: Address): boolean;
  /** Whether any node's pods can have it. */
  isInPodNetworks(address: Address): boolean;
  /**
   * A node's own tunnels, and whether its pods may use them. Of a node that nobody has looked at it is taken for granted
   * that it has those of one that somebody has: an overlay is the same on every node.
   */
  linksOf(node: Node | undefined): TunnelLinks;
}

export type TunnelLinks = Pick<NodeLinks, 'tunnels' | 'podTunnels'>;

/** Of a cluster whose nodes stay as they are. */
export function tunnelFinders({ nodes }: Cluster): TunnelFinders {
  const ends = new Map<Address, Node>();
  for (const node of nodes.values()) for (const address of tunnelEnds(node)) ends.set(address, node);
  // Before others a node by its status.
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
