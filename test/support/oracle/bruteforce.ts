/**
 * The points that a brute force has to try: no rule of the cluster distinguishes flows between two neighbouring points.
 */
import { type Address, parseAddress } from '../../../src/model/address.ts';
import { addressesOfNode, type Cluster, type Node } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { PortMatch } from '../../../src/model/policy.ts';
import { credibleTunnelAddresses, tunnelNodes } from '../../../src/model/tunneladdresses.ts';
import { isTunnel, TUNNEL_PORTS } from '../../../src/model/tunnels.ts';
import { tunnelFinders } from '../../../src/semantics/tunnelends.ts';

export type Point = Pick<Flow, 'protocol' | 'port'>;

/** Every port where a rule, a named port or a tunnel begins or ends, of each protocol, and what has no ports. */
export function pointsOf({ policies, pods }: Cluster): Point[] {
  const rules = [...policies.values()].flatMap(({ ingress = [], egress = [] }) => [...ingress, ...egress]);
  const ends = rules.flatMap(({ ports }) => (ports === 'any' ? [] : ports.flatMap(endsOf)));
  const named = [...pods.values()].flatMap(({ ports }) => ports.map(({ port }) => port));
  const single = [...named, ...TUNNEL_PORTS].flatMap(port => [port, port + 1]);
  const ports = [...new Set([1, 65_535, ...ends, ...single])].filter(port => port >= 1 && port <= 65_535);
  const withPorts = (['TCP', 'UDP', 'SCTP'] as const).flatMap(protocol =>
    ports.map(port => ({ protocol, port })),
  );
  return [...withPorts, { protocol: 'ICMP' }, { protocol: 4 }, { protocol: 47 }, { protocol: 50 }];
}

function endsOf(port: PortMatch): number[] {
  return port.kind === 'range' ? [port.first, port.last + 1] : [];
}

/** All addresses of the cluster, and some that no object has: in each network, in each exception, outside. */
export function addressesOf({ pods, nodes }: Cluster): Address[] {
  const own = [
    ...[...pods.values()].flatMap(({ addresses }) => addresses),
    ...[...nodes.values()].flatMap(node => [...addressesOfNode(node), ...credibleTunnelAddresses(node)]),
  ];
  return [...new Set([...own, ...OUTSIDE])];
}

/** The node of an address that no pod has, be it that of its tunnel (N75). */
export function nodeAt({ nodes }: Cluster, address: Address): Node | undefined {
  const all = [...nodes.values()];
  return all.find(({ addresses }) => addresses.includes(address)) ?? tunnelNodes(all).get(address);
}

/**
 * Whether only the links by which it goes can tell: into a tunnel, at an address of a node that others know as no end of
 * tunnels (N72).
 */
export function isByLink(cluster: Cluster, flow: Flow): boolean {
  const { endAt } = tunnelFinders(cluster);
  if (nodeAt(cluster, flow.to) === undefined || endAt(flow.to) !== undefined) return false;
  return [...cluster.nodes.values()].some(({ links }) => isTunnel(flow, links));
}

const OUTSIDE = [
  '192.0.2.7',
  '192.0.2.8',
  '203.0.113.5',
  '2001:db8::5',
  '10.0.1.77',
  '10.0.2.77',
  '10.0.1.200',
  'fd00::1:77',
  'fd00::2:77',
].map(text => parseAddress(text)!);
