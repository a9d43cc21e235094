/** Protocols by their numbers, and as a flow has them. */
import type { FlowProtocol } from './flow.ts';

/** IANA protocol numbers. */
export const PROTOCOL_NUMBER = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58, sctp: 132 } as const;

/** Each family has an ICMP of its own. */
export const ICMP_OF = { ip: 'icmp', ip6: 'icmpv6' } as const;

const NAMED: ReadonlyMap<number, FlowProtocol> = new Map([
  [PROTOCOL_NUMBER.tcp, 'TCP'],
  [PROTOCOL_NUMBER.udp, 'UDP'],
  [PROTOCOL_NUMBER.sctp, 'SCTP'],
  [PROTOCOL_NUMBER.icmp, 'ICMP'],
  [PROTOCOL_NUMBER.icmpv6, 'ICMP'],
]);

/** One protocol is one value: by its name where a flow has one for it. */
export function flowProtocol(number: number): FlowProtocol {
  return NAMED.get(number) ?? number;
}
