/**
 * The addresses from which nodes send into the tunnels to other nodes (N75). A host process that sends to a pod of
 * another node leaves by the tunnel, and so with the address of the tunnel's interface, which is not in the status of
 * the node. Network plugins write these addresses on the Node. A kubelet may write anything on its own Node, so an
 * address counts only where no other node and no pod can have it.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, cidrContains } from './address.ts';
import { type Cluster, isSelectable, type Node } from './cluster.ts';
import { podCidrsOf } from './podcidrs.ts';
import { tunnelEnds } from './tunnels.ts';

/** Cached by node object, which never changes: policies are compared with the nodes again and again. */
const CREDIBLE = new WeakMap<Node, readonly Address[]>();

/**
 * The addresses of its annotations that are in its own pod networks, which the cluster gave it, or that its own agent
 * sees on an interface of the node.
 */
export function credibleTunnelAddresses(node: Node): readonly Address[] {
  const { tunnelAddresses, interfaceAddresses = [] } = node;
  if (tunnelAddresses === undefined) return NONE;
  return getOrMake(CREDIBLE, node, () =>
    tunnelAddresses.filter(
      address =>
        interfaceAddresses.includes(address) || podCidrsOf(node).some(cidr => cidrContains(cidr, address)),
    ),
  );
}

const NONE: readonly Address[] = [];

/** The name of the interface that has a tunnel address of the node, as far as it is known. */
export function tunnelDeviceAt(node: Node, address: Address): string | undefined {
  const index = node.tunnelAddresses?.indexOf(address) ?? -1;
  return node.tunnelDevices?.[index];
}

/** The first two addresses of its pod networks, at which a node may answer (C59), without those of its status. */
export function gatewaysOf(node: Node): readonly Address[] {
  return getOrMake(GATEWAYS, node, () =>
    tunnelEnds(node).filter(
      (address, at, all) => !node.addresses.includes(address) && all.indexOf(address) === at,
    ),
  );
}

const GATEWAYS = new WeakMap<Node, readonly Address[]>();

/**
 * Addresses at which a node may answer although its status does not have them (C59), as far as they are known: these, and
 * those of its interfaces. A pod may have one of them instead.
 */
export function unlistedAddresses(node: Node): readonly Address[] {
  return getOrMake(UNLISTED, node, () => {
    const { addresses, interfaceAddresses = [] } = node;
    const ofInterfaces = interfaceAddresses.filter(address => !addresses.includes(address));
    return [...new Set([...gatewaysOf(node), ...ofInterfaces])];
  });
}

const UNLISTED = new WeakMap<Node, readonly Address[]>();

/**
 * The node that sends from each tunnel address; an address that several nodes claim is none. The caller has to see to it
 * that no pod has the address.
 */
export function tunnelNodes(nodes: Iterable<Node>): Map<Address, Node> {
  const claims = tunnelClaims(nodes);
  return new Map(
    [...claims].flatMap(([address, [node, ...others]]) => (others.length > 0 ? [] : [[address, node!]])),
  );
}

/**
 * The tunnel addresses that policy takes to be no node's, with the names of all who claim them: several nodes, or pods of
 * other nodes.
 */
export function contestedTunnels({ nodes, pods }: Pick<Cluster, 'nodes' | 'pods'>): Map<Address, string[]> {
  const found = new Map<Address, string[]>();
  const claims = tunnelClaims(nodes.values());
  for (const [address, [first, ...others]] of claims)
    if (others.length > 0)
      found.set(
        address,
        [first!, ...others].map(({ name }) => name),
      );
  for (const pod of pods.values())
    for (const address of isSelectable(pod) ? pod.addresses : []) {
      const claimants = claims.get(address);
      if (claimants === undefined || claimants.some(({ name }) => name === pod.node)) continue;
      getOrMake(found, address, () => claimants.map(({ name }) => name)).push(
        `pod ${pod.key} on ${pod.node}`,
      );
    }
  return found;
}

function tunnelClaims(nodes: Iterable<Node>): Map<Address, Node[]> {
  const found = new Map<Address, Node[]>();
  for (const node of nodes)
    for (const address of credibleTunnelAddresses(node)) getOrMake(found, address, () => []).push(node);
  return found;
}
