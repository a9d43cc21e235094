/** What leads to pods: policy never sees it (N61), but people dial it. Pure data, as in cluster.ts. */
import type { Address, Family } from './address.ts';
import type { PodKey } from './cluster.ts';
import type { Labels } from './labels.ts';
import type { Protocol } from './policy.ts';

/** `namespace/name`. */
export type ServiceKey = `${string}/${string}`;

export interface ServicePort {
  /** Empty where there is only one. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** A name means what the containers of each pod say. */
  readonly target: number | string;
  readonly nodePort?: number;
}

export interface Service {
  readonly key: ServiceKey;
  readonly namespace: string;
  readonly name: string;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  /** Its ClusterIPs; none of a headless one. */
  readonly clusterIps: readonly Address[];
  /** externalIPs, and those of its load balancer. */
  readonly externalIps: readonly Address[];
  /** `externalTrafficPolicy: Local`: who dials from outside is seen as himself, by endpoints of the node that he came to. */
  readonly keepsSource?: true;
  readonly headless: boolean;
  readonly externalName?: string;
  /** Without a selector its endpoints are written by others. */
  readonly selector?: Labels;
  readonly ports: readonly ServicePort[];
}

export interface Endpoint {
  readonly addresses: readonly Address[];
  readonly ready: boolean;
  readonly pod?: PodKey;
}

export interface EndpointSlice {
  /** `namespace/name` of the slice itself. */
  readonly key: `${string}/${string}`;
  readonly service: ServiceKey;
  readonly family: Family;
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
  readonly endpoints: readonly Endpoint[];
  /** Of an Endpoints object: it counts where no slice says otherwise. */
  readonly isMirrored?: true;
}
