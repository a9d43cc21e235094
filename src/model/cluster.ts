/** A cluster as policy sees it. Pure data: every source makes the same objects. */
import type { Address } from './address.ts';
import type { HostPortMapping } from './hostport.ts';
import type { Mac } from './mac.ts';
import type { Policy, PolicyId, Protocol } from './policy.ts';
import type { Labelled } from './selector.ts';

/** `namespace/name`. */
export type PodKey = `${string}/${string}`;

export function namespaceOfPod(key: PodKey): string {
  return key.slice(0, key.indexOf('/'));
}

export interface ContainerPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Pod extends Labelled {
  readonly key: PodKey;
  readonly namespace: string;
  readonly name: string;
  /** The uid in the kubelet; absent if it is not known. */
  readonly uid?: string | undefined;
  /** Name of the node that runs it; empty while it is not scheduled. */
  readonly node: string;
  /** Every family's address (N51); empty until the network is attached (N50). */
  readonly addresses: readonly Address[];
  readonly hostNetwork: boolean;
  /** Phase Succeeded or Failed: another pod may have its address by now (N47). */
  readonly finished: boolean;
  /** RFC 3339, or empty if unknown. If two pods of a node report one address, the younger one owns it. */
  readonly createdAt: string;
  /** Named ports of its containers and restartable init containers (4.14). */
  readonly ports: readonly ContainerPort[];
  /**
   * In a cluster as the rules of a node have it, which `trace` and `inspect` read: the namespace of a pod that the rules
   * know in an earlier version of it. Absent elsewhere.
   */
  readonly namespaceInForce?: Namespace;
  /** Likewise: policies that select it isolate it, and what they allow is not in force yet. */
  readonly closed?: 'rules follow';
}

export interface Namespace extends Labelled {
  readonly name: string;
}

export interface Node extends Labelled {
  readonly name: string;
  /** All of status.addresses that parse as an IP (4.22). */
  readonly addresses: readonly Address[];
  /** Those of `addresses` that have another type than InternalIP in the status; absent if there are none. */
  readonly externalIps?: readonly Address[];
  readonly podCidrs: readonly string[];
  /**
   * Addresses of its interfaces that are not in status.addresses, such as a bridge's in the pod network. Only the
   * node's own agent knows them.
   */
  readonly interfaceAddresses?: readonly Address[];
  /**
   * The addresses from which it sends into tunnels, as annotations say; absent if they say nothing. Which of them count,
   * tunneladdresses.ts says.
   */
  readonly tunnelAddresses?: readonly Address[];
  /** The names of the interfaces that have them, in the same order. */
  readonly tunnelDevices?: readonly string[];
  /** Whether flanneld has run on it, with whatever back end. */
  readonly hasFlannel?: true;
  /** Only for the agent's own node, once the agent has read its interfaces. */
  readonly links?: NodeLinks;
  /**
   * In a placeholder for the agent's own Node, which has not been read yet: the addresses of all nodes in the rules in
   * force.
   */
  readonly lastKnownNodeAddresses?: readonly Address[];
  /** Likewise: the addresses at which tunnels of nodes may end. */
  readonly lastKnownTunnelEnds?: readonly Address[];
  /** Likewise: the pod networks of all nodes, as networks or ranges such as `10.0.0.0-10.0.2.255`. */
  readonly lastKnownPodNetworks?: readonly string[];
}

/** Network interfaces of a node by index. The kernel does not use an index twice before it restarts. */
export interface NodeLinks {
  /** Interfaces that lead out of the node, and never to pods, whatever their kind is. */
  readonly uplinks: readonly number[];
  /** Bridges that lead to pods. */
  readonly podBridges: readonly number[];
  /**
   * Broadcast addresses of the pods' bridges, in addition to those of the node's pod networks; absent if there are
   * none.
   */
  readonly broadcasts?: readonly Address[];
  /** The node's own tunnels; absent if it has none. */
  readonly tunnels?: Tunnels;
  /** Set by a flag of the node's agent: pods run overlays of their own, and N72 does not apply. */
  readonly podTunnels?: 'allow';
  /**
   * Ports of the pods' bridges that lead to known pods, sorted by index; absent if no bridge leads to pods, or the
   * ports cannot be read.
   */
  readonly podPorts?: readonly PodPort[];
  /** Ports of bridges that lead to no known pod; absent if there are none. */
  readonly bridgePorts?: BridgePorts;
}

/** Ports of bridges that lead to no pod, or to a pod that is not known. Each list is sorted. */
export interface BridgePorts {
  /** Indices of veths that are ports of other bridges. */
  readonly others: readonly number[];
  /** Names of veths that are ports of pods' bridges and whose pods are not known. */
  readonly unknown: readonly string[];
  /**
   * Hardware addresses of the node's ends of all ports of pods' bridges: the bridge delivers frames to them to the
   * node.
   */
  readonly macs: readonly Mac[];
}

/** The ports and protocols at which tunnels of a node accept packets, to any of its addresses. Sorted. */
export interface Tunnels {
  /** UDP ports. */
  readonly ports: readonly number[];
  /** IP protocol numbers. */
  readonly protocols: readonly number[];
}

/** A port of a bridge and the pod behind it, as the kernel has them. */
export interface PodPort {
  readonly index: number;
  /** The hardware address of the pod's end. */
  readonly mac: Mac;
  /** The addresses of the pod's interfaces, from which it may send. Sorted. */
  readonly addresses: readonly Address[];
}

/** The names of addresses according to the DNS answers that pods got, until these expire. */
export interface Resolved {
  /** Whether the pod got the address in an answer for a name that the pattern matches (C41, C42). */
  has(pod: PodKey, address: Address, pattern: string): boolean;
}

/** Resolved names that can also be listed. */
export interface ResolvedNames extends Resolved {
  /** Sorted; only the first ones if there are very many. Patterns stand for names that are not known. */
  namesOf(pod: PodKey, address: Address): readonly string[];
}

/** The state that policy is evaluated and compiled from. */
export interface Cluster {
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly pods: ReadonlyMap<PodKey, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
  /** The policies that are in force. */
  readonly policies: ReadonlyMap<PolicyId, Policy>;
  /** Policies that are never in force because they are annotated as audited; absent if there are none. */
  readonly audited?: ReadonlyMap<PolicyId, Policy>;
  /** The DNS answers that pods got; absent if no answers are read: then no address has a name. */
  readonly resolved?: Resolved;
  /**
   * The node whose agent reported this cluster: it knows its own pods better than others do (N49). Absent if no agent
   * did.
   */
  readonly seenBy?: string;
  /** The host ports of pods that this node's agent has attached, by `hostPortKey`. Policy does not use them. */
  readonly hostPorts?: ReadonlyMap<string, HostPortMapping>;
}

/**
 * One object as it is now; without a value it is deleted. Events carry whole objects, so a repeated event changes
 * nothing.
 */
export type ClusterEvent =
  | { readonly type: 'namespace'; readonly key: string; readonly value?: Namespace }
  | { readonly type: 'pod'; readonly key: PodKey; readonly value?: Pod }
  | { readonly type: 'node'; readonly key: string; readonly value?: Node }
  | { readonly type: 'policy'; readonly key: PolicyId; readonly value?: Policy }
  | { readonly type: 'hostPort'; readonly key: string; readonly value?: HostPortMapping };

/** A Cluster that is updated by events. */
export class ClusterState implements Cluster {
  readonly namespaces = new Map<string, Namespace>();
  readonly pods = new Map<PodKey, Pod>();
  readonly nodes = new Map<string, Node>();
  readonly policies = new Map<PolicyId, Policy>();
  readonly audited = new Map<PolicyId, Policy>();
  readonly hostPorts = new Map<string, HostPortMapping>();

  apply(event: ClusterEvent): void {
    switch (event.type) {
      case 'namespace':
        put(this.namespaces, event.key, event.value);
        break;
      case 'pod':
        put(this.pods, event.key, event.value);
        break;
      case 'node':
        put(this.nodes, event.key, event.value);
        break;
      case 'policy':
        // An object is in force or audited, never both, so that readers of `policies` never see an audited one.
        put(this.policies, event.key, event.value?.audited ? undefined : event.value);
        put(this.audited, event.key, event.value?.audited ? event.value : undefined);
        break;
      case 'hostPort':
        put(this.hostPorts, event.key, event.value);
        break;
    }
  }
}

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** A pod that policies can select, as subject or as peer (N14, N45, N46, N47). */
export function isSelectable(pod: Pod): boolean {
  return !pod.hostNetwork && !pod.finished;
}

/** The label that every namespace carries (N54). */
export const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** A namespace. If it was never seen, its name is known, and it may have any other label (N68). */
export function namespaceOf(cluster: Cluster, name: string): Namespace {
  return cluster.namespaces.get(name) ?? { name, labels: { [NAMESPACE_NAME_LABEL]: name }, partial: true };
}

/** The namespace as it applies to this pod: the rules in force may have an earlier version of it. */
export function namespaceAround(cluster: Cluster, { namespace, namespaceInForce }: Pod): Namespace {
  return namespaceInForce ?? namespaceOf(cluster, namespace);
}

/** Whether both have the same labels. */
export function sameNamespace(a: Namespace, b: Namespace): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Whether an address belongs to the node itself, which may always reach its own pods (N43). */
export function isNodeItself(node: Node | undefined, address: Address): boolean {
  return node !== undefined && addressesOfNode(node).includes(address);
}

/** The addresses by which a network means the node (N75). */
export function internalIpsOf({ addresses, externalIps }: Node): readonly Address[] {
  return externalIps === undefined ? addresses : addresses.filter(address => !externalIps.includes(address));
}

export function addressesOfNode({ addresses, interfaceAddresses = [] }: Node): readonly Address[] {
  return [...addresses, ...interfaceAddresses];
}

/** Whether the cluster has a node of this name, or a pod that runs on it. */
export function knowsNode({ nodes, pods }: Cluster, name: string): boolean {
  const node = nodes.get(name);
  const isRead = node !== undefined && node.lastKnownNodeAddresses === undefined;
  return isRead || [...pods.values()].some(({ node }) => node === name);
}

/** The cluster with these links of the node, unless it has some already. */
export function withNodeLinks(cluster: Cluster, name: string, links: NodeLinks): Cluster {
  const node = cluster.nodes.get(name);
  if (node === undefined || node.links !== undefined) return cluster;
  return { ...cluster, nodes: new Map(cluster.nodes).set(name, { ...node, links }) };
}
