/**
 * What nodes wrap packets of pods in. Whoever reaches a tunnel's end on a node can send any packet from anybody to
 * anybody: what comes out of it has passed the sender's node already, as far as the receiver's can tell.
 */
import { type Address, addressFromInt, addressToInt } from './address.ts';
import type { Node, NodeLinks, Tunnels } from './cluster.ts';
import type { Flow } from './flow.ts';
import { podCidrsOf } from './podcidrs.ts';

/** UDP: VXLAN (IANA's port and Linux's), FOU, GUE, Geneve. */
export const TUNNEL_PORTS: readonly number[] = [4789, 5555, 6080, 6081, 8472];

/** IPv4 and IPv6 in IP, and GRE. */
export const TUNNEL_PROTOCOLS: readonly number[] = [4, 41, 47];

/** Whether a flow would lead into a tunnel if it ended at a node, of which `links` are known. */
export function isTunnel(flow: Flow, links?: Pick<NodeLinks, 'tunnels'>): boolean {
  return isOf(WELL_KNOWN, flow) || isOwnTunnel(flow, links);
}

/** Whether a tunnel of this very node would take it in. */
export function isOwnTunnel(flow: Flow, links: Pick<NodeLinks, 'tunnels'> | undefined): boolean {
  return links?.tunnels !== undefined && isOf(links.tunnels, flow);
}

const WELL_KNOWN: Tunnels = { ports: TUNNEL_PORTS, protocols: TUNNEL_PROTOCOLS };

function isOf({ ports, protocols }: Tunnels, { protocol, port }: Flow): boolean {
  return protocol === 'UDP'
    ? port !== undefined && ports.includes(port)
    : typeof protocol === 'number' && protocols.includes(protocol);
}

/**
 * The addresses by which every node knows that a tunnel may end at this one: those of its status, and the first two of
 * each of its pod networks. Flannel gives the first to its own interface and the second to the bridge of the pods, and
 * other plugins give the second to a gateway: no pod has them.
 */
export function tunnelEnds(node: Node): Address[] {
  const first = podCidrsOf(node).flatMap(({ family, base, prefix }) => {
    const isOne = prefix === (family === 'ip' ? 32 : 128);
    return isOne ? [base] : [base, addressFromInt(family, addressToInt(base) + 1n)];
  });
  return [...node.addresses, ...first];
}
