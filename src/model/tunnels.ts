/**
 * What nodes wrap packets of pods in. Whoever reaches a tunnel's end on a node can send any packet from anybody to
 * anybody: what comes out of it has passed the sender's node already, as far as the receiver's can tell.
 */
import type { Flow } from './flow.ts';

/** UDP: VXLAN (IANA's port and Linux's), FOU, GUE, Geneve. */
export const TUNNEL_PORTS: readonly number[] = [4789, 5555, 6080, 6081, 8472];

/** IPv4 and IPv6 in IP, and GRE. */
export const TUNNEL_PROTOCOLS: readonly number[] = [4, 41, 47];

/** Whether a flow would lead into a tunnel if it ended at a node. */
export function isTunnel({ protocol, port }: Flow): boolean {
  return protocol === 'UDP'
    ? port !== undefined && TUNNEL_PORTS.includes(port)
    : typeof protocol === 'number' && TUNNEL_PROTOCOLS.includes(protocol);
}
