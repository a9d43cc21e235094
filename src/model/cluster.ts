/** What a cluster is, as far as policy can see it. Pure data: every source makes the same objects. */
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
  /** As the kubelet has it; absent where it is not known. */
  readonly uid?: string | undefined;
  /** Name of the node that runs it; empty while it is not scheduled. */
  readonly node: string;
  /** Every family's address (N51); empty until the network is attached (N50). */
  readonly addresses: readonly Address[];
  readonly hostNetwork: boolean;
  /** Phase Succeeded or Failed: its address may belong to another pod by now (N47). */
  readonly finished: boolean;
  /** RFC 3339, or empty where unknown. Of two pods of a node that report one address the younger owns it. */
  readonly createdAt: string;
  /** Named ports of its containers and restartable init containers (4.14). */
  readonly ports: readonly ContainerPort[];
  /** Of a pod as rules in force have it: its namespace as they have that, where it is another by now. */
  readonly namespaceBefore?: Namespace;
  /** Set in a pod as rules in force have it: policies that select it isolate it, and what they allow is on its way. */
  readonly isolateOnly?: true;
}

export interface Namespace extends Labelled {
  readonly name: string;
}

export interface Node extends Labelled {
  readonly name: string;
  /** All of status.addresses that parse as an IP (4.22). */
  readonly addresses: readonly Address[];
  readonly podCidrs: readonly string[];
  /** Addresses of its interfaces that status.addresses lacks, as of a bridge in the pod network; known to its own agent alone. */
  readonly interfaceAddresses?: readonly Address[];
  /** Known of the agent's own node alone, once it has looked. */
  readonly links?: NodeLinks;
  /** In a placeholder for the agent's own Node, which has not been read yet: the addresses of all nodes in the rules in force. */
  readonly lastKnownNodeAddresses?: readonly Address[];
  /** Likewise the addresses at which tunnels of nodes may end. */
  readonly lastKnownTunnelEnds?: readonly Address[];
  /** Likewise the pod networks of all nodes: networks, or ranges `10.0.0.0-10.0.2.255`. */
  readonly lastKnownPodNetworks?: readonly string[];
}

/** Network interfaces of a node by their index, which none has twice while it lives. */
export interface NodeLinks {
  /** By which packets leave the node for elsewhere: never those of pods, of whatever kind they are. */
  readonly uplinks: readonly number[];
  /** Bridges that lead to pods. */
  readonly podBridges: readonly number[];
  /** By which these bridges deliver to all of their ports, beside those of the node's pod networks; absent where there are none. */
  readonly broadcasts?: readonly Address[];
  /** The node's own tunnels; absent where it has none. */
  readonly tunnels?: Tunnels;
  /** What its pods may do by a flag of its agent: they run overlays of their own, and N72 is not in force. */
  readonly podTunnels?: 'allow';
  /** Ports of these bridges, in the order of their indices; absent where no bridge leads to pods, or it cannot be known. */
  readonly podPorts?: readonly PodPort[];
  /** Beside these; absent where nothing is known beside. */
  readonly bridgePorts?: BridgePorts;
}

/** Ports of bridges that lead to no pod, or to none that is known. Each in one order. */
export interface BridgePorts {
  /** Indices of veths that are ports of other bridges. */
  readonly others: readonly number[];
  /** Names of veths that are ports of pods' bridges, and whose pods are not known. */
  readonly unknown: readonly string[];
  /** Hardware addresses of all ports of pods' bridges, at the node's end: the bridge takes what is sent there for the node. */
  readonly macs: readonly Mac[];
}

/** Where tunnels of a node take packets in, whatever the address that these come to. In order. */
export interface Tunnels {
  /** Of UDP. */
  readonly ports: readonly number[];
  /** Of IP. */
  readonly protocols: readonly number[];
}

/** A port of a bridge, and the pod behind it, as the kernel has both. */
export interface PodPort {
  readonly index: number;
  /** Of the pod's end. */
  readonly mac: Mac;
  /** The addresses of its own interfaces, from which the pod may send. In one order. */
  readonly addresses: readonly Address[];
}

/** The names of addresses, by the DNS answers that pods got, for as long as these hold. */
export interface Resolved {
  /** Whether the pod got the address in an answer for a name that the pattern matches (C41, C42). */
  has(pod: PodKey, address: Address, pattern: string): boolean;
}

/** Resolved names that can also be listed. */
export interface ResolvedNames extends Resolved {
  /** Sorted, and the first of very many. Patterns stand for names that are not known. */
  namesOf(pod: PodKey, address: Address): readonly string[];
}

/** The state that policy is evaluated and compiled from. */
export interface Cluster {
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly pods: ReadonlyMap<PodKey, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
  /** Those in force. */
  readonly policies: ReadonlyMap<PolicyId, Policy>;
  /** Policies that are never in force, each of which says so itself; absent where there are none. */
  readonly audited?: ReadonlyMap<PolicyId, Policy>;
  /** The DNS answers that pods got; absent where no answers are read: then no address has a name. */
  readonly resolved?: Resolved;
  /** The node whose agent says all this: it knows its own pods better than others do (N49). Absent where no agent is asked. */
  readonly seenBy?: string;
  /** Of the pods that this node's agent has attached; no policy sees them. By `hostPortKey`. */
  readonly hostPorts?: ReadonlyMap<string, HostPortMapping>;
}

/** One object as it is now; without a value it is gone. Events carry whole objects, so repeating one is harmless. */
export type ClusterEvent =
  | { readonly type: 'namespace'; readonly key: string; readonly value?: Namespace }
  | { readonly type: 'pod'; readonly key: PodKey; readonly value?: Pod }
  | { readonly type: 'node'; readonly key: string; readonly value?: Node }
  | { readonly type: 'policy'; readonly key: PolicyId; readonly value?: Policy }
  | { readonly type: 'hostPort'; readonly key: string; readonly value?: HostPortMapping };

/** A Cluster that follows events. */
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
        // One object is in force or audited, never both: readers of policies never meet an audited one.
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

/** A namespace; of one that was never seen its name is known, and that it may have any other label (N68). */
export function namespaceOf(cluster: Cluster, name: string): Namespace {
  return cluster.namespaces.get(name) ?? { name, labels: { [NAMESPACE_NAME_LABEL]: name }, partial: true };
}

/** The namespace as it is to this pod. */
export function namespaceAround(cluster: Cluster, { namespace, namespaceBefore }: Pod): Namespace {
  return namespaceBefore ?? namespaceOf(cluster, namespace);
}

/** Whether both say the same. */
export function sameNamespace(a: Namespace, b: Namespace): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Whether an address is the node itself, which no policy keeps from its own pods (N43). */
export function isNodeItself(node: Node | undefined, address: Address): boolean {
  return node !== undefined && addressesOfNode(node).includes(address);
}

export function addressesOfNode({ addresses, interfaceAddresses = [] }: Node): readonly Address[] {
  return [...addresses, ...interfaceAddresses];
}

/** Whether the cluster has a node of this name, or a pod that says it runs there. */
export function knowsNode({ nodes, pods }: Cluster, name: string): boolean {
  const node = nodes.get(name);
  const isRead = node !== undefined && node.lastKnownNodeAddresses === undefined;
  return isRead || [...pods.values()].some(({ node }) => node === name);
}

/** The same cluster; these are the interfaces of the node's pods, if none are known. */
export function withNodeLinks(cluster: Cluster, name: string, links: NodeLinks): Cluster {
  const node = cluster.nodes.get(name);
  if (node === undefined || node.links !== undefined) return cluster;
  return { ...cluster, nodes: new Map(cluster.nodes).set(name, { ...node, links }) };
}
