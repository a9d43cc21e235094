/** One connection attempt, as it looks after DNAT (N61). */
import type { Address } from './address.ts';
import type { Protocol } from './policy.ts';

export type FlowProtocol = Protocol | 'ICMP' | number;

export interface Flow {
  readonly from: Address;
  readonly to: Address;
  /** Between IPv6 addresses, ICMP means ICMPv6. A number is any other IP protocol. */
  readonly protocol: FlowProtocol;
  /** Destination port, 1..65535; only TCP, UDP and SCTP have one. */
  readonly port?: number;
  /** Through a Service: then policy applies even if a pod reaches itself (4.1, C47). */
  readonly viaService?: boolean;
}
