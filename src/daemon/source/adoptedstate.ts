/**
 * The facts that an agent reads, when it starts, from the rules of its predecessor, because no other source has them.
 */
import { hostPortsIn } from '../../compiler/hostports.ts';
import { type IsolatedPods, isolatedPodsIn } from '../../compiler/isolatedpods.ts';
import { nodeAddressesIn } from '../../compiler/podlinks.ts';
import { allPodNetworksIn } from '../../compiler/podnetworks.ts';
import { podNetworksIn } from '../../compiler/podnetworksin.ts';
import { podPortsIn } from '../../compiler/portsets.ts';
import { isMarkedRemoved } from '../../compiler/removedmark.ts';
import { type Address, cidrText } from '../../model/address.ts';
import type { ClusterEvent, PodPort } from '../../model/cluster.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import type { Kernel } from '../../nft/kernel.ts';

export interface AdoptedState {
  /** Ports of the node that lead to pods; they stay in force as the tables do. */
  readonly hostPorts: readonly HostPortMapping[];
  /** Ports of bridges that lead to pods. */
  readonly podPorts: readonly PodPort[];
  /** Pods that NetworkPolicies isolate; these policies may be gone by now. */
  readonly isolatedPods: IsolatedPods;
  /** The previous agent ended as it does when Sluice is removed. */
  readonly isMarkedRemoved: boolean;
  /** The networks of this node's pods. */
  readonly podCidrs: readonly string[];
  /** The addresses of all nodes. */
  readonly nodeAddresses: readonly Address[];
  /** The addresses at which tunnels of nodes may end. */
  readonly tunnelEnds: readonly Address[];
  /** The pod networks of all nodes, as networks or ranges. */
  readonly podNetworks: readonly string[];
}

/** Reads the tables once, and keeps nothing of them. */
export async function readAdoptedState(
  kernel: Pick<Kernel, 'dump'>,
  podLinks: PodLinks,
): Promise<AdoptedState> {
  const { ruleset } = await kernel.dump();
  return {
    hostPorts: podLinks === 'others' ? [] : hostPortsIn(ruleset),
    podPorts: podPortsIn(ruleset) ?? [],
    isolatedPods: isolatedPodsIn(ruleset),
    isMarkedRemoved: isMarkedRemoved(ruleset),
    podCidrs: podNetworksIn(ruleset).map(cidrText),
    nodeAddresses: nodeAddressesIn(ruleset),
    tunnelEnds: nodeAddressesIn(ruleset, 'tunnel ends'),
    podNetworks: allPodNetworksIn(ruleset),
  };
}

/**
 * The agent's own Node until the API server delivers it. Without its networks, the rules that check sources would be
 * removed, and without the other nodes' addresses those about tunnels. It has no address and no labels, so that no rule
 * selects it as a peer.
 */
export function placeholderNode(name: string, adopted: AdoptedState): ClusterEvent[] {
  const { podCidrs, podPorts, nodeAddresses, tunnelEnds, podNetworks } = adopted;
  if (podCidrs.length + podPorts.length + nodeAddresses.length + podNetworks.length === 0) return [];
  const lastKnown = {
    lastKnownNodeAddresses: nodeAddresses,
    lastKnownTunnelEnds: tunnelEnds,
    lastKnownPodNetworks: podNetworks,
  };
  return [{ type: 'node', key: name, value: { name, labels: {}, addresses: [], podCidrs, ...lastKnown } }];
}
