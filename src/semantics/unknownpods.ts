/** N67: unknown pods, which are addresses of a node's pod networks that no known pod has. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, familyOf, networkOf } from '../model/address.ts';
import { addressesOfNode, type Cluster, type Node, type Pod } from '../model/cluster.ts';
import { podCidrsOf, type UnknownPods } from '../model/podcidrs.ts';
import { tunnelNodes } from '../model/tunneladdresses.ts';

type Finder = (address: Address) => Node | undefined;
type Owners = Pick<ReadonlyMap<Address, Pod>, 'get' | 'has'>;

interface Finders {
  /** The node in whose pod networks an address is that no known pod has, whether or not nodes deny unknown pods. */
  readonly nodeOfUnknownPod: Finder;
  /** That node if nodes deny unknown pods; undefined if they allow them. */
  readonly nodeDenyingUnknownPod: Finder;
}

export function unknownPodFinders(cluster: Cluster, owners: Owners, unknownPods: UnknownPods): Finders {
  const nodeOfUnknownPod = unknownPodNodeFinder(cluster, owners);
  return {
    nodeOfUnknownPod,
    nodeDenyingUnknownPod: unknownPods === 'allow' ? () => undefined : nodeOfUnknownPod,
  };
}

/** Finds the node in whose pod networks an address is; undefined for an address of a known pod or of that node itself. */
export function unknownPodNodeFinder({ nodes }: Cluster, owners: Owners): Finder {
  const ofTunnels = tunnelNodes(nodes.values());
  const nodeOfNetwork = podNetworkFinder(nodes.values());
  return address => {
    if (owners.has(address) || ofTunnels.has(address)) return undefined;
    const node = nodeOfNetwork(address);
    return node === undefined || addressesOfNode(node).includes(address) ? undefined : node;
  };
}

/** Finds the node in whose pod networks an address is, also where a pod or a node is known to have it. */
export function podNetworkFinder(nodes: Iterable<Node>): Finder {
  // Indexed by prefix length. A cluster has one or two in each family, so finding one of thousands of nodes takes one look-up.
  const byPrefix = new Map<string, Map<Address, Node>>();
  for (const node of nodes) {
    for (const { family, prefix, base } of podCidrsOf(node)) {
      const key = `${family} ${prefix}`;
      getOrMake(byPrefix, key, () => new Map<Address, Node>()).set(base, node);
    }
  }
  return address => {
    for (const [key, found] of byPrefix) {
      const [family, prefix] = key.split(' ');
      if (family !== familyOf(address)) continue;
      const node = found.get(networkOf(address, Number(prefix)).base);
      if (node !== undefined) return node;
    }
    return undefined;
  };
}
