/** The endpoints, addresses and ports that an end of a question means in a cluster. */
import type { Address, AddressRange, Family } from '../../model/address.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Protocol } from '../../model/policy.ts';
import type { StatusText } from '../../model/policystatus.ts';
import type { Service, ServiceKey } from '../../model/service.ts';
import type { WorkloadId } from '../../model/workload.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import type { PolicyIndex } from '../../semantics/policyindex.ts';

export type Masquerade = 'yes' | 'no';

/** What agents do as they were started (N67, N72), and a view only guesses. */
export interface Guesses {
  readonly unknownPods: boolean;
  readonly podTunnels: boolean;
  /** Why, as the end of a sentence. */
  readonly why: string;
}

/** The cluster and other known facts, in which ends are looked up. */
export interface ClusterView {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
  /** Whether a Service or workload that is not found does not exist; else it is unknown. */
  readonly knowsInventory: boolean;
  readonly defaultNamespace: string;
  readonly unknownPods: UnknownPods;
  /** What neither agents nor the caller have said; absent where all is known. */
  readonly guesses?: Guesses;
  /** For a live cluster: whether the caller lacks the right to list this resource, in that namespace. */
  readonly mayNotList?: (plural: string, namespace?: string) => boolean;
  /** The namespaces of which all policies could be read, if those of others could not. */
  readonly policiesOnlyOf?: readonly string[];
  /** Answers of DNS to pods, if an agent reports them. */
  readonly known?: DnsSnapshot;
  /** The statuses of policies that are not in force as written, if an agent reports them. */
  readonly statuses?: readonly StatusText[];
  /** An index of the cluster's policies, which many questions share. */
  readonly index?: PolicyIndex;
  /** Whether the pod network masquerades what pods send to nodes; absent if it is not known. */
  readonly masquerade?: Masquerade;
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
  /** The workload that the question names, and whose pod this is. */
  readonly workload?: WorkloadId;
  /** All addresses on the internet. */
  readonly isInternet?: true;
  /** A pod on the network of its node: policy sees the node (N45, N46). */
  readonly isOnNode?: boolean;
  /** The DNS name by which the destination was given. */
  readonly domain?: string;
  /** The Service that leads here, where the end is named by it and no pod is behind it. */
  readonly service?: ServiceKey;
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
  /** The question names one of the endpoints of the Service. */
  readonly isOneEndpoint?: true;
  /** How the connection is translated on its way; absent if the source dials the endpoint itself. */
  readonly translation?: Translation;
  /** The node that runs what answers, where no pod says so. */
  readonly node?: string;
  /** Only over this family. */
  readonly family?: Family;
}

/** What is dialled instead of the endpoint, if it matters who dials it and from which node. */
export type Translation =
  /** An address of a Service that leads to endpoints of the client's node alone (`internalTrafficPolicy: Local`). */
  | { readonly kind: 'local-service' }
  /** An external address of a Service; `node` if it is this node's own address as well. */
  | { readonly kind: 'external-address'; readonly node?: string; readonly keepsSource?: true }
  /** A port of a node: a Service's, or the host port of a pod there. */
  | {
      readonly kind: 'node-port';
      readonly node: string;
      /** Those that were dialled. */
      readonly addresses: readonly Address[];
      readonly port: number;
      readonly keepsSource?: true;
    }
  /** A load balancer outside, which kube-proxy leaves alone (`ipMode: Proxy`). */
  | { readonly kind: 'load-balancer'; readonly address: Address; readonly port: number };

export interface Targets {
  readonly targets: readonly Target[];
  readonly notes: readonly string[];
  /** Why no verdict can be given, although the question is one. */
  readonly undecided?: string;
}

/** An end that is one of those that were judged: there is a verdict only where all of them have the same. */
export interface UnlessSame {
  readonly why: string;
  /** Whether all that it may be were judged. */
  readonly isAll: boolean;
}

/** The pod that has the addresses of an endpoint, or will have them. */
export function podOf({ pod, unassigned }: ResolvedEndpoint): Pod | undefined {
  return pod ?? unassigned?.pod;
}

/** The number of the named port in this pod. */
export function namedPort(pod: Pod | undefined, name: string, protocol: Protocol): number | undefined {
  return pod?.ports.find(port => port.name === name && port.protocol === protocol)?.port;
}
