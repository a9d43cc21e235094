/** The endpoints, addresses and ports that an end of a question means in a cluster. */
import type { Address, AddressRange } from '../../model/address.ts';
import type { Cluster, Node, Pod } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Protocol } from '../../model/policy.ts';
import type { StatusText } from '../../model/policystatus.ts';
import type { Service } from '../../model/service.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import type { PolicyIndex } from '../../semantics/policyindex.ts';

/** The cluster and other known facts, in which ends are looked up. */
export interface ClusterView {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
  /** Whether a Service or workload that is not found does not exist; else it is unknown. */
  readonly knowsInventory: boolean;
  readonly defaultNamespace: string;
  readonly unknownPods: UnknownPods;
  /** For a live cluster: whether the caller lacks the right to list this resource, in that namespace. */
  readonly mayNotList?: (plural: string, namespace?: string) => boolean;
  /** Answers of DNS to pods, if an agent reports them. */
  readonly known?: DnsSnapshot;
  /** The statuses of policies that are not in force as written, if an agent reports them. */
  readonly statuses?: readonly StatusText[];
  /** An index of the cluster's policies, which many questions share. */
  readonly index?: PolicyIndex;
  /** An address means the end that answers, even if a Service has it. */
  readonly isBehindServices?: boolean;
}

/** An end of a question, looked up in the cluster: its addresses, or the ranges of one that is not assigned yet. */
export interface ResolvedEndpoint {
  /** `shop/web-1`, `node n1`, `10.0.0.7`, `shop/deploy/web`. */
  readonly name: string;
  readonly addresses: readonly Address[];
  /** The pod that has them, if one does. */
  readonly pod?: Pod;
  readonly unassigned?: UnassignedAddress;
  /** The DNS name by which the destination was given. */
  readonly domain?: string;
}

/** An address that is not assigned yet, as that of a pod that does not exist yet: it may be any of these ranges. */
interface UnassignedAddress {
  readonly within: readonly AddressRange[];
  /** The pod that will have it; absent if it is outside the cluster. */
  readonly pod?: Pod;
}

/** An endpoint with the protocol and port of the connection. */
export interface Target {
  readonly endpoint: ResolvedEndpoint;
  readonly protocol: FlowProtocol;
  readonly port?: number;
  readonly service?: Service;
  /** The destination is a host port of the pod's node: answers to the pod itself were translated. */
  readonly isHostPort?: true;
  /** The node port that was dialled; absent for the pod's own node, which keeps the source address. */
  readonly nodePort?: NodePort;
  /** The nodes that may forward a connection from an external address to this target. */
  readonly senders?: readonly Node[];
}

interface NodePort {
  readonly addresses: readonly Address[];
  readonly port: number;
  /** The pod behind the port is on another node, so it always sees the address of the node that was dialled. */
  readonly isElsewhere: boolean;
}

export interface Targets {
  readonly targets: readonly Target[];
  readonly notes: readonly string[];
  /** Why no verdict can be given, although the question is one. */
  readonly undecided?: string;
}

/** The pod that has the addresses of an endpoint, or will have them. */
export function podOf({ pod, unassigned }: ResolvedEndpoint): Pod | undefined {
  return pod ?? unassigned?.pod;
}

/** The number of the named port in this pod. */
export function namedPort(pod: Pod | undefined, name: string, protocol: Protocol): number | undefined {
  return pod?.ports.find(port => port.name === name && port.protocol === protocol)?.port;
}
