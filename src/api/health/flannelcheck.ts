/** What keeps Flannel from carrying packets between nodes, where it is the network of the pods. */
import type { FlannelFacts, Host, Ours } from '../../kernel/host/facts.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Cidr, cidrText, FAMILIES } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { type Check, finding } from './check.ts';
import { isWithin } from './hostchecks.ts';

const MOST_NAMED = 3;

/** It warns and does not fail: the Node object of another node must not be able to keep pods off this one. */
export function flannel({ routes }: Pick<Host, 'routes'>, ours: Ours): Check {
  const name = 'flannel';
  if (ours.flannel === undefined) return finding.ok(name, 'Flannel is not the network of this node');
  const found = sharedNetworks(ours.flannel) ?? routesMissing(routes, ours.flannel) ?? largePackets(ours);
  if (found !== undefined) return finding.warn(name, found.reason, found.remedy);
  for (const reading of [
    routes.ip,
    routes.ip6,
    ours.podRoutes ?? { unreadable: 'interfaces were not read yet' },
  ])
    if ('unreadable' in reading) return finding.unknown(name, reading.unreadable);
  return finding.ok(name, 'a route leads to the pods of every node, and their packets fit the tunnel');
}

interface Trouble {
  readonly reason: string;
  readonly remedy: string;
}

function sharedNetworks({ shared }: FlannelFacts): Trouble | undefined {
  if (shared.length === 0) return undefined;
  const text = ({ nodes, cidr }: (typeof shared)[number]) =>
    `${cidrText(cidr)} of ${firstOf(nodes, MOST_NAMED)}`;
  return {
    reason: `nodes have the same pod network, and packets to its pods reach one of them: ${firstOf(shared, MOST_NAMED, text)}`,
    remedy:
      'give each node a spec.podCIDR of its own: delete all Node objects but one, and let the nodes register anew',
  };
}

function routesMissing(routes: Host['routes'], { networks }: FlannelFacts): Trouble | undefined {
  const listed = FAMILIES.flatMap(family => ('value' in routes[family] ? routes[family].value : []));
  // flanneld makes one route for each node, and there may be thousands: only what has none is compared with all.
  const exact = new Set(listed.map(cidrText));
  const missing = networks.filter(
    ({ cidr }) =>
      'value' in routes[cidr.family] &&
      !exact.has(cidrText(cidr)) &&
      !listed.some(route => isWithin(cidr, route)),
  );
  if (missing.length === 0) return undefined;
  const text = ({ node, cidr }: (typeof missing)[number]) => `${cidrText(cidr)} of ${node}`;
  return {
    reason: `no route leads to the pods of other nodes: ${firstOf(missing, MOST_NAMED, text)}`,
    remedy:
      'flanneld makes it: see whether it runs on this node (kubectl -n kube-flannel get pods -o wide), and what it logs',
  };
}

/**
 * On nodes with a tunnel for each family flanneld gives pods the MTU of the one for IPv4. The
 * node tells an IPv6 sender itself that its packets are too big for the smaller one.
 */
function largePackets({ podRoutes, flannelTunnels = [] }: Ours): Trouble | undefined {
  if (podRoutes === undefined || 'unreadable' in podRoutes) return undefined;
  const tunnel = flannelTunnels.find(({ name }) => !name.includes('-v6')) ?? flannelTunnels[0];
  const largest = podRoutes.value.filter(({ isUplink }) => !isUplink).toSorted((a, b) => b.mtu - a.mtu)[0];
  if (tunnel === undefined || largest === undefined || largest.mtu <= tunnel.mtu) return undefined;
  return {
    reason: `pods on ${largest.device} may send packets of ${largest.mtu} bytes, and ${tunnel.name} carries ${tunnel.mtu}: large ones to other nodes are lost or cut in pieces`,
    remedy: 'flanneld writes the MTU for new pods to /run/flannel/subnet.env: start these pods again',
  };
}

/** What the nodes of a cluster say of Flannel; empty unless it is the network of the node `own`. */
export function flannelFacts(nodes: Cluster['nodes'], own: string): Pick<Ours, 'flannel'> {
  if (!nodes.get(own)?.hasFlannel) return {};
  const holders = new Map<string, { nodes: string[]; cidr: Cidr }>();
  for (const node of nodes.values())
    for (const cidr of node.hasFlannel ? podCidrsOf(node) : [])
      getOrMake(holders, cidrText(cidr), () => ({ nodes: [], cidr })).nodes.push(node.name);
  const all = [...holders.values()];
  const networks = all.flatMap(({ nodes: [node, ...others], cidr }) =>
    others.length === 0 && node !== own ? [{ node: node!, cidr }] : [],
  );
  return { flannel: { networks, shared: all.filter(({ nodes }) => nodes.length > 1) } };
}
