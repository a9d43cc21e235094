/** Checks for settings and programs that let packets bypass the rules, or let pods send with another source address. */

import type { Host, Ours, PodRoute } from '../../kernel/host/facts.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { FAMILIES } from '../../model/address.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { type Check, finding } from './check.ts';
import { carriesPods } from './hostchecks.ts';
import type { PodStarts } from './startchecks.ts';

/** IPVS takes a packet for a Service in the input hook, and sends it on where no forward hook sees it. */
export function ipvs({ virtualServices }: Host): Check {
  const name = 'ipvs';
  if ('unreadable' in virtualServices) return finding.unknown(name, virtualServices.unreadable);
  const count = virtualServices.value;
  if (count === 0) return finding.ok(name, 'no virtual service of IPVS on this node');
  return finding.fail(
    name,
    `IPVS has ${count} virtual services: what pods send to Services is judged neither by the address nor by the port of the pod that gets it`,
    'run kube-proxy in mode nftables or iptables, and clear what it left behind (ipvsadm --clear)',
  );
}

export function flowtables({ flowtables }: Host): Check {
  const name = 'flowtables';
  if ('unreadable' in flowtables) return finding.unknown(name, flowtables.unreadable);
  if (flowtables.value.length === 0) return finding.ok(name, 'connections are not offloaded');
  return finding.warn(
    name,
    `${flowtables.value.join(', ')} may offload connections: one that is open passes no rule any more, so that a policy that comes to deny it cuts it late or never`,
    'leave connections of pods out of the flowtable, or remove it',
  );
}

/**
 * kube-proxy sets it and drops the packets that it would let in; other programs may not. Our rules drop those of pods, at
 * the links that they know to be of pods (compiler/linkmatches.ts).
 */
export function routeLocalnet(host: Host, ours: Ours): Check {
  const name = 'route-localnet';
  const { localnet, foreignChains } = host;
  if ('unreadable' in localnet) return finding.unknown(name, localnet.unreadable);
  const interfaces = localnet.value;
  if (interfaces.length === 0) return finding.ok(name, 'packets to 127.0.0.0/8 stay where they are');
  const where = `net.ipv4.conf.{${interfaces.join(',')}}.route_localnet is 1`;
  if ('value' in foreignChains && foreignChains.value.includes(KUBE_FIREWALL))
    return finding.ok(name, `${where}, and kube-proxy drops what comes from elsewhere`);
  const ofPods = linksOfPods(host, ours);
  if (interfaces.every(each => ofPods.includes(each)))
    return finding.ok(name, `${where}, and pods reach no loopback address by them`);
  return finding.warn(
    name,
    `${where}: whoever sends to this node by them reaches what listens on 127.0.0.1 there`,
    'switch it off, with kube-proxy by --iptables-localhost-nodeports=false, or drop new connections to 127.0.0.0/8 by other interfaces than lo',
  );
}

/** A bridge is one of them while no pod is on it, too. */
function linksOfPods({ bridges }: Host, ours: Ours): readonly string[] {
  const { podRoutes } = ours;
  const ways = podRoutes !== undefined && 'value' in podRoutes ? podRoutes.value : [];
  const shared = 'value' in bridges ? bridges.value : [];
  const found = [
    ...ways.filter(({ kind }) => kind === 'veth').map(({ device }) => device),
    ...shared
      .filter(bridge => FAMILIES.some(family => carriesPods(bridge, family, ours)))
      .map(({ name }) => name),
  ];
  return found.filter(name => !ways.some(({ device, isUplink }) => device === name && isUplink));
}

export const KUBE_FIREWALL = 'KUBE-FIREWALL';

/** A source route redirects a packet after all rules, or within a connection of the node itself. */
export function sourceRoutes({ sourceRoutes }: Host): Check {
  const name = 'source-routes';
  if ('unreadable' in sourceRoutes) return finding.unknown(name, sourceRoutes.unreadable);
  const settings = sourceRoutes.value.join(', ');
  if (settings === '')
    return finding.ok(name, 'packets go where their destination is, whatever their senders say');
  return finding.fail(
    name,
    `${settings} is on: what a pod may send to its node goes on to any pod that the packet names, past the policies of that pod`,
    'switch it off: 0 for all interfaces together is enough',
  );
}

/**
 * Packets through a bridge are checked at its ports: if we know the pod behind each port, a pod cannot send with the
 * address of another.
 */
export function podSources(
  { bridges }: Host,
  ours: Ours,
  { unknownPods }: Pick<PodStarts, 'unknownPods'>,
): Check {
  const name = 'pod-sources';
  if ('unreadable' in bridges) return finding.unknown(name, bridges.unreadable);
  const shared = bridges.value.filter(bridge => FAMILIES.some(family => carriesPods(bridge, family, ours)));
  if (shared.length === 0)
    return finding.ok(name, 'no bridge carries pods: each sends as itself or not at all');
  const bridge = `bridge ${shared.map(bridge => bridge.name).join(', ')}`;
  const { withoutPort, unknownPorts = [] } = ours;
  if (withoutPort?.length === 0)
    return unknownPorts.length === 0
      ? finding.ok(name, `each pod on ${bridge} sends as itself or not at all`)
      : finding.warn(name, unknownText(bridge, unknownPorts, unknownPods), UNKNOWN_REMEDY[unknownPods]);
  const who =
    withoutPort === undefined
      ? 'pods'
      : `${firstOf(withoutPort, MOST_LISTED)}, behind no port that is known,`;
  return finding.warn(
    name,
    `${who} on ${bridge} can send as one another by IPv6 or with the capability NET_RAW, and with that also frames with a VLAN tag, which pass no rule`,
    'use a network plugin that gives each pod a link of its own (--pod-network=attach, ptp, kindnet, Calico), or one whose bridge has a veth of each pod as its port; or take NET_RAW from pods',
  );
}

function unknownText(bridge: string, ports: readonly string[], unknownPods: UnknownPods): string {
  const what = `it is not known which pod is behind ${firstOf(ports, MOST_LISTED)} of ${bridge}`;
  return unknownPods === 'deny'
    ? `${what}: packets that come by them are denied`
    : `${what}: what is behind them can send as a pod of the bridge`;
}

const FIND =
  'a pod that starts is known as soon as it has its address; behind a port that stays is no pod, or one without an address of the pod network: find it (ip -d link show), and take it from the bridge';
const UNKNOWN_REMEDY: Readonly<Record<UnknownPods, string>> = {
  allow: `${FIND}, or have unknown pods denied (--unknown-pods deny)`,
  deny: FIND,
};

/** Types of links over which all packets of a pod reach the node's hooks; another check covers bridges. */
const POD_LINKS = new Set(['veth', 'netkit', 'tun', 'bridge']);

/** Pods that are linked past the node's network stack, as by macvlan, send past every hook. */
export function podLinks({ podRoutes }: Pick<Ours, 'podRoutes'>): Check {
  const name = 'pod-links';
  if (podRoutes === undefined) return finding.unknown(name, 'not read yet');
  if ('unreadable' in podRoutes) return finding.unknown(name, podRoutes.unreadable);
  const ways = podRoutes.value;
  if (ways.length === 0) return finding.ok(name, 'no way leads to a pod of this node yet');
  const strange = ways.filter(way => !isPodLink(way));
  // A pod that has just ended has no link any more, so its addresses follow the default route.
  const lasting = strange.length === ways.length ? strange : strange.filter(({ isUplink }) => !isUplink);
  if (lasting.length === 0) return finding.ok(name, "pods' packets come to this node by links of theirs");
  const pods = lasting.flatMap(({ addresses }) => addresses);
  const devices = lasting.map(({ device, kind }) => `${device} (${kind ?? 'hardware'})`).join(', ');
  return finding.warn(
    name,
    `the way to ${firstOf(pods, MOST_LISTED)} is ${devices}, no link of a pod: what such pods send may pass no rule of this node`,
    'use a network plugin whose pods send through the node, by a veth each or by a bridge, and not one of macvlan, ipvlan, SR-IOV or Open vSwitch',
  );
}

/** A veth by which packets leave the node is that of a node that is itself a container. */
function isPodLink({ kind, isUplink }: PodRoute): boolean {
  return kind !== undefined && POD_LINKS.has(kind) && (kind === 'bridge' || !isUplink);
}

const MOST_LISTED = 5;
