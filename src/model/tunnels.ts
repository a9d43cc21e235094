/**
 * How nodes wrap packets of pods. A sender that reaches the end of a tunnel on a node can send packets from any source
 * to any destination: the receiving node assumes that the sender's node has checked them.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, addressFromInt, addressToInt } from './address.ts';
import type { Cluster, Node, NodeLinks, Tunnels } from './cluster.ts';
import type { Flow } from './flow.ts';
import { podCidrsOf } from './podcidrs.ts';

/** Where flanneld itself takes in what it writes to the interface `flannel0`, with its back end `udp`. */
export const FLANNEL_UDP_PORT = 8285;

/** UDP ports: VXLAN (IANA's port and Linux's), FOU, GUE, Geneve, Flannel's own. */
export const TUNNEL_PORTS: readonly number[] = [4789, 5555, 6080, 6081, FLANNEL_UDP_PORT, 8472];

/** IP protocols: IPv4 in IP, IPv6 in IP, GRE. */
export const TUNNEL_PROTOCOLS: readonly number[] = [4, 41, 47];

/** Whether a flow would enter a tunnel if its destination were a node with these `links`, as far as they are known. */
export function isTunnel(flow: Flow, links?: Pick<NodeLinks, 'tunnels'>): boolean {
  return isOf(WELL_KNOWN, flow) || isOwnTunnel(flow, links);
}

/** Whether a tunnel of this node would accept the flow. */
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
 * The addresses at which tunnels to this node may end, as all nodes know them: those in its status, and the first two
 * of each of its pod networks. Flannel gives the first one to its own interface and the second one to the pods' bridge,
 * and other plugins give the second one to a gateway: no pod has them.
 */
export function tunnelEnds(node: Node): readonly Address[] {
  return getOrMake(ENDS, node, () => endsOf(node));
}

/** Cached by node object, which never changes: a set of all ends is made whenever a node comes. */
const ENDS = new WeakMap<Node, readonly Address[]>();

function endsOf(node: Node): readonly Address[] {
  const first = podCidrsOf(node).flatMap(({ family, base, prefix }) => {
    const isOne = prefix === (family === 'ip' ? 32 : 128);
    return isOne ? [base] : [base, addressFromInt(family, addressToInt(base) + 1n)];
  });
  return [...node.addresses, ...first];
}

/** The cluster whose agents let pods send into tunnels (N72). */
export function withPodTunnels<T extends Pick<Cluster, 'nodes'>>(cluster: T): T {
  const links = { uplinks: [], podBridges: [] };
  const nodes = [...cluster.nodes.values()].map(
    node =>
      [node.name, { ...node, links: { ...links, ...node.links, podTunnels: 'allow' as const } }] as const,
  );
  return { ...cluster, nodes: new Map(nodes) };
}
