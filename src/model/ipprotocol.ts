/** IP protocols by number, and by the names that flows have. */
import type { FlowProtocol } from './flow.ts';

/** IANA protocol numbers. */
export const PROTOCOL_NUMBER = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58, sctp: 132 } as const;

/** The ICMP of each family. */
export const ICMP_OF = { ip: 'icmp', ip6: 'icmpv6' } as const;

const NAMED: ReadonlyMap<number, FlowProtocol> = new Map([
  [PROTOCOL_NUMBER.tcp, 'TCP'],
  [PROTOCOL_NUMBER.udp, 'UDP'],
  [PROTOCOL_NUMBER.sctp, 'SCTP'],
  [PROTOCOL_NUMBER.icmp, 'ICMP'],
  [PROTOCOL_NUMBER.icmpv6, 'ICMP'],
]);

/** The name of a protocol if flows have one for it, else its number. */
export function flowProtocol(number: number): FlowProtocol {
  return NAMED.get(number) ?? number;
}
