/** Ports of a node that lead to its pods, as Kubernetes' `hostPort` requests them. */
import { type Address, familyOf } from './address.ts';
import type { Protocol } from './policy.ts';

export interface HostPortMapping {
  readonly protocol: Protocol;
  /** The port on all addresses of the node of the pod's family. */
  readonly hostPort: number;
  /** The address of the pod to which the port leads. */
  readonly pod: Address;
  readonly podPort: number;
  /** The pod for people: `ownerText` of its key. */
  readonly owner: string;
}

const MAX_OWNER = 120;

/** A pod's key, cut so that it fits into a comment of the kernel. */
export function ownerText(pod: string): string {
  return pod.replace(/[^ !#-~]/g, '_').slice(0, MAX_OWNER);
}

/** `80/TCP ip`: unique for each mapping. */
export function hostPortKey({ protocol, hostPort, pod }: HostPortMapping): string {
  return `${hostPort}/${protocol} ${familyOf(pod)}`;
}
