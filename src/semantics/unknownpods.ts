/** N67: an address of a node's pod networks that no known pod has. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, familyOf, networkOf } from '../model/address.ts';
import { addressesOfNode, type Cluster, type Node, type Pod } from '../model/cluster.ts';
import { podCidrsOf, type UnknownPods } from '../model/podcidrs.ts';

type Finder = (address: Address) => Node | undefined;
type Owners = Pick<ReadonlyMap<Address, Pod>, 'get' | 'has'>;

interface Finders {
  /** Whatever becomes of an unknown pod. */
  readonly strangerOf: Finder;
  /** The node that denies an address as an unknown pod's, if nodes deny such. */
  readonly unknownPodOf: Finder;
}

export function unknownPodFinders(cluster: Cluster, owners: Owners, unknownPods: UnknownPods): Finders {
  const strangerOf = strangerFinder(cluster, owners);
  return { strangerOf, unknownPodOf: unknownPods === 'allow' ? () => undefined : strangerOf };
}

/** Finds the node in whose pod networks an address is that no pod has, and no node for itself. */
export function strangerFinder({ nodes }: Cluster, owners: Owners): Finder {
  const own = new Set([...nodes.values()].flatMap(addressesOfNode));
  const nodeOfNetwork = podNetworkFinder(nodes.values());
  return address => (owners.has(address) || own.has(address) ? undefined : nodeOfNetwork(address));
}

/** Finds the node in whose pod networks an address is, whoever has it. */
export function podNetworkFinder(nodes: Iterable<Node>): Finder {
  // By prefix length, of which a cluster has one or two in each family: thousands of nodes are found in one step.
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
