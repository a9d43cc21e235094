/**
 * Services and their endpoints: policy never sees them (N61), but people connect to them. Pure data, as in cluster.ts.
 */
import type { Address, Family } from './address.ts';
import type { PodKey } from './cluster.ts';
import type { Labels } from './labels.ts';
import type { Protocol } from './policy.ts';

/** `namespace/name`. */
export type ServiceKey = `${string}/${string}`;

export interface ServicePort {
  /** Empty if the Service has only one port. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** A name stands for the container port of that name, which may differ from pod to pod. */
  readonly target: number | string;
  readonly nodePort?: number;
}

export interface Service {
  readonly key: ServiceKey;
  readonly namespace: string;
  readonly name: string;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  /** Its ClusterIPs; empty for a headless Service. */
  readonly clusterIps: readonly Address[];
  /** externalIPs, and the addresses of its load balancer, as far as kube-proxy forwards them. */
  readonly externalIps: readonly Address[];
  /** Addresses of its load balancer that kube-proxy leaves alone (`ipMode: Proxy`); absent if there are none. */
  readonly proxiedIps?: readonly Address[];
  /** Addresses that the author asks for, where the load balancer has none yet. Nobody forwards them. */
  readonly wantedIps?: readonly Address[];
  /**
   * `externalTrafficPolicy: Local`: endpoints on the node that receives an external connection see its source address.
   */
  readonly keepsSource?: true;
  /** `internalTrafficPolicy: Local`: its ClusterIPs lead to endpoints on the client's node alone. */
  readonly isNodeLocal?: true;
  readonly headless: boolean;
  readonly externalName?: string;
  /** Absent if the endpoints are written by other software. */
  readonly selector?: Labels;
  readonly ports: readonly ServicePort[];
}

export interface Endpoint {
  readonly addresses: readonly Address[];
  readonly ready: boolean;
  readonly pod?: PodKey;
  readonly node?: string;
}

export interface EndpointSlice {
  /** `namespace/name` of the slice itself. */
  readonly key: `${string}/${string}`;
  readonly service: ServiceKey;
  readonly family: Family;
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
  readonly endpoints: readonly Endpoint[];
  /** Made from an Endpoints object: it counts only if no EndpointSlice says otherwise. */
  readonly isMirrored?: true;
}

/** An object that leads clients from outside to Services: an Ingress, a route of the Gateway API, a Route of OpenShift. */
export interface Entrance {
  /** `Ingress shop/web`. */
  readonly object: string;
  readonly backends: readonly Backend[];
  readonly servedBy: ServedBy;
}

/** What says which controller serves an Entrance. */
export type ServedBy =
  /** An IngressClass; absent where the Ingress names none, so that it is the default class. */
  | { readonly kind: 'class'; readonly name?: string }
  /** `namespace/name` of Gateways. */
  | { readonly kind: 'gateways'; readonly keys: readonly string[] }
  /** The router of OpenShift. */
  | { readonly kind: 'router' };

/** An object between an Entrance and its controller: an IngressClass, a GatewayClass, or a Gateway. */
export interface EntranceClass {
  readonly kind: 'IngressClass' | 'GatewayClass' | 'Gateway';
  /** Of a Gateway `namespace/name`. */
  readonly name: string;
  /** Of a class: `k8s.io/ingress-nginx`. */
  readonly controller?: string;
  /** Of a Gateway: its GatewayClass. */
  readonly class?: string;
  readonly isDefault?: true;
}

export interface Backend {
  /** `spec.rules[0].http.paths[0].backend`. */
  readonly field: string;
  readonly service: ServiceKey;
  /** A port of the Service, or its name; absent for all of its ports. */
  readonly port?: number | string;
  /** Of a Route of OpenShift: a port of the Service by its name, or a port of the pods by number or name. */
  readonly targetPort?: number | string;
  /** A backend of a UDPRoute; others are of TCP. */
  readonly isUdp?: true;
  /** The route, where its Service is of another namespace: a ReferenceGrant there has to allow it. */
  readonly grantedTo?: RouteKind;
}

/** Routes of a kind in a namespace. */
interface RouteKind {
  readonly kind: string;
  readonly namespace: string;
}

/** One pair of `from` and `to` of a ReferenceGrant: these routes may lead to Services of its namespace. */
export interface RouteGrant {
  readonly from: RouteKind;
  readonly namespace: string;
  /** The name of the only Service; absent for all of the namespace. */
  readonly service?: string;
}
