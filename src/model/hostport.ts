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
  /** Whose it is, for people: the pod's key, as much of it as fits a comment. */
  readonly owner: string;
}

/** `80/TCP ip`: there is one mapping of each. */
export function hostPortKey({ protocol, hostPort, pod }: HostPortMapping): string {
  return `${hostPort}/${protocol} ${familyOf(pod)}`;
}
