/** Ports of a node that lead to its pods, as Kubernetes' `hostPort` asks for them. */
import { type Address, familyOf } from './address.ts';
import type { Protocol } from './policy.ts';

export interface HostPortMapping {
  readonly protocol: Protocol;
  /** Of all addresses of the node that are of the pod's family. */
  readonly hostPort: number;
  /** Where it leads. */
  readonly pod: Address;
  readonly podPort: number;
  /** Whose it is, for people: `ownerText` of the pod's key. */
  readonly owner: string;
}

const MAX_OWNER = 120;

/** As much of a pod's key as fits a comment in the kernel, whatever a runtime calls its pods. */
export function ownerText(pod: string): string {
  return pod.replace(/[^ !#-~]/g, '_').slice(0, MAX_OWNER);
}

/** `80/TCP ip`: there is one mapping of each. */
export function hostPortKey({ protocol, hostPort, pod }: HostPortMapping): string {
  return `${hostPort}/${protocol} ${familyOf(pod)}`;
}
