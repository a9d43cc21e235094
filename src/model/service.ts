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
}

export interface Backend {
  /** `spec.rules[0].http.paths[0].backend`. */
  readonly field: string;
  readonly service: ServiceKey;
  /** A port of the Service, or its name; absent for all of its ports. */
  readonly port?: number | string;
}
