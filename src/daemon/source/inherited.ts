/** What the rules tell of pods that an agent finds when it starts: nobody else remembers it. */
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

export interface Inherited {
  /** Which ports of the node lead to pods: taken over as the tables are. */
  readonly hostPorts: readonly HostPortMapping[];
  /** Which ports of bridges lead to pods. */
  readonly podPorts: readonly PodPort[];
  /** By NetworkPolicies that may be gone by now. */
  readonly isolatedPods: IsolatedPods;
  /** An agent ended here as if Sluice were being removed. */
  readonly isMarkedRemoved: boolean;
  /** Networks of this node's pods. */
  readonly podCidrs: readonly string[];
  /** Of all nodes. */
  readonly nodeAddresses: readonly Address[];
  /** Where tunnels of all nodes may end. */
  readonly tunnelEnds: readonly Address[];
  /** The pod networks of all nodes, as networks or ranges. */
  readonly podNetworks: readonly string[];
}

/** Reads the tables once, and keeps nothing of them. */
export async function readInherited(kernel: Pick<Kernel, 'dump'>, podLinks: PodLinks): Promise<Inherited> {
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
 * The agent's own Node, until the API server says what it is: without its networks, rules about who may send as whom would
 * go, and those about tunnels without the addresses of the others. It has no address and no labels, so that no rule means
 * it as a peer.
 */
export function nodeBefore(name: string, inherited: Inherited): ClusterEvent[] {
  const { podCidrs, podPorts, nodeAddresses: nodesBefore, podNetworks: podNetworksBefore } = inherited;
  if (podCidrs.length + podPorts.length + nodesBefore.length + podNetworksBefore.length === 0) return [];
  const before = { nodesBefore, tunnelEndsBefore: inherited.tunnelEnds, podNetworksBefore };
  return [{ type: 'node', key: name, value: { name, labels: {}, addresses: [], podCidrs, ...before } }];
}
