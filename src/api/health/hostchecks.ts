/** Checks of the node around us: does pod traffic flow, and does it pass where our rules are? */

import type { Bridge, Host, Openers, Ours, PodRoute, Reading } from '../../kernel/host/facts.ts';
import {
  type Cidr,
  cidrContains,
  cidrText,
  FAMILIES,
  FAMILY_NAME,
  type Family,
  familyOf,
} from '../../model/address.ts';
import { type Check, finding } from './check.ts';

const FORWARD_SYSCTL: Record<Family, string> = {
  ip: 'net.ipv4.ip_forward',
  ip6: 'net.ipv6.conf.all.forwarding',
};
const BRIDGE_SYSCTL: Record<Family, string> = {
  ip: 'net.bridge.bridge-nf-call-iptables',
  ip6: 'net.bridge.bridge-nf-call-ip6tables',
};
const FILL = { warn: 0.8, fail: 0.95 };

export function forwarding(family: Family, { forwarding }: Host, ours: Ours): Check {
  const name = family === 'ip' ? 'ip-forward' : 'ip6-forward';
  const reading = forwarding[family];
  const families = podFamilies(ours);
  if (families.size > 0 && !families.has(family)) {
    return finding.ok(name, `no pod of this node has an ${FAMILY_NAME[family]} address`);
  }
  if ('unreadable' in reading) return finding.unknown(name, reading.unreadable);
  if (reading.value) return finding.ok(name, `${FORWARD_SYSCTL[family]} is 1`);
  const reason = `${FORWARD_SYSCTL[family]} is 0: the node forwards no packet of a pod`;
  const remedy = `sysctl -w ${FORWARD_SYSCTL[family]}=1`;
  // Which families the pods have is not known yet, and IPv6 is off on many a node that needs none.
  if (families.size === 0 && family === 'ip6') return finding.warn(name, reason, remedy);
  return finding.fail(name, reason, remedy);
}

/** Without a sysctl, frames between two ports of a bridge pass no IP hook, so the rules would not see them. */
export function bridgeTrafficSeen({ bridges, bridgeCalls }: Host, ours: Ours): Check {
  const name = 'bridge-traffic-seen';
  if ('unreadable' in bridges) return finding.unknown(name, bridges.unreadable);
  if (bridges.value.length === 0) return finding.ok(name, 'no bridge on this node');
  if (ours.podCidrs.length === 0 && waysOf(ours).length === 0) {
    return finding.unknown(
      name,
      `the node has no pod CIDR and no way to a pod, so none of its bridges (${names(bridges.value)}) is known to be one of pods`,
    );
  }
  const blind: string[] = [];
  const unread: string[] = [];
  const carrying = new Set<Bridge>();
  for (const family of FAMILIES) {
    const ofPods = bridges.value.filter(bridge => carriesPods(bridge, family, ours));
    for (const bridge of ofPods) carrying.add(bridge);
    const reading = bridgeCalls[family];
    if (ofPods.every(({ calls }) => calls?.includes(family))) continue;
    if ('unreadable' in reading) unread.push(reading.unreadable);
    else if (!reading.value) blind.push(BRIDGE_SYSCTL[family]);
  }
  if (blind.length > 0) {
    return finding.fail(
      name,
      `pods are on bridge ${names([...carrying])} while ${blind.join(' and ')} is off: traffic between pods of this node passes no rule`,
      `modprobe br_netfilter; ${blind.map(sysctl => `sysctl -w ${sysctl}=1`).join('; ')}`,
    );
  }
  if (unread.length > 0) return finding.unknown(name, unread.join('; '));
  if (carrying.size === 0)
    return finding.ok(name, 'no bridge has an address in the pod CIDR, nor does one lead to a pod');
  return finding.ok(name, `traffic over bridge ${names([...carrying])} passes nftables`);
}

export function conntrackFill({ conntrack }: Host, { openers }: Pick<Ours, 'openers'> = {}): Check {
  const name = 'conntrack-fill';
  if ('unreadable' in conntrack) return finding.unknown(name, conntrack.unreadable);
  const { count, max } = conntrack.value;
  // nf_conntrack_max of 0 is no limit.
  if (max === 0) return finding.ok(name, `${count} entries, without a limit`);
  const reason = `${count} of ${max} entries (${Math.floor((count / max) * 100)} %)`;
  const who = openersText(openers);
  const remedy =
    'raise net.netfilter.nf_conntrack_max, or isolate the pod that opens so many: connections that a policy denies are cut, and leave the table';
  if (count >= max * FILL.fail)
    return finding.fail(name, `${reason}: new connections are dropped soon${who}`, remedy);
  if (count >= max * FILL.warn) return finding.warn(name, `${reason}${who}`, remedy);
  return finding.ok(name, reason);
}

/** Whether the table is so full that it is worth finding the clients that opened the connections. */
export function isNearlyFull({ conntrack }: Pick<Host, 'conntrack'>): boolean {
  if ('unreadable' in conntrack) return false;
  const { count, max } = conntrack.value;
  return max > 0 && count >= max * FILL.warn;
}

const MOST_OPENERS = 3;

function openersText(openers: Reading<Openers> | undefined): string {
  if (openers === undefined) return '';
  if ('unreadable' in openers) return `; who opened them cannot be read: ${openers.unreadable}`;
  const { pods, others } = openers.value;
  const named = pods.slice(0, MOST_OPENERS).map(({ pod, opened }) => `${pod} opened ${opened}`);
  const rest = pods.slice(MOST_OPENERS).reduce((sum, { opened }) => sum + opened, 0);
  if (rest > 0) named.push(`other pods of this node opened ${rest}`);
  return `; ${[...named, `the node and others elsewhere opened ${others}`].join(', ')}`;
}

/** A node without pods may have no route yet, so a missing one is a warning. */
export function podCidrRoute({ routes }: Host, { podCidrs }: Ours): Check {
  const name = 'pod-cidr-route';
  if (podCidrs.length === 0) return finding.unknown(name, 'the node has no pod CIDR');
  const missing: Cidr[] = [];
  for (const cidr of podCidrs) {
    const reading = routes[cidr.family];
    if ('unreadable' in reading) return finding.unknown(name, reading.unreadable);
    if (!reading.value.some(route => isWithin(route, cidr))) missing.push(cidr);
  }
  const are = podCidrs.length === 1 ? 'is' : 'are';
  if (missing.length === 0) return finding.ok(name, `${podCidrs.map(cidrText).join(' and ')} ${are} routed`);
  return finding.warn(
    name,
    `no route leads into ${missing.map(cidrText).join(' and ')}`,
    'the network plugin makes it, at the latest with the first pod: see whether it runs',
  );
}

/** Two enforcers are no danger, but a verdict that Sluice explains may be another's. */
export function foreignEnforcer({ processes, foreignRules }: Host, { podNames }: Ours): Check {
  const name = 'foreign-enforcer';
  const found = [
    ...valuesOf(processes).flatMap(process => enforcingProcess(process) ?? []),
    ...podNames.flatMap(pod => enforcingPod(pod) ?? []),
    ...valuesOf(foreignRules),
  ];
  const reason = `${[...new Set(found)].join(', ')} may enforce network policy too: a packet must pass both`;
  const remedy = "switch the other's network policy off; rules that it left behind go with a reboot";
  if (found.length > 0) return finding.warn(name, reason, remedy);
  if ('unreadable' in foreignRules) return finding.unknown(name, foreignRules.unreadable);
  if ('unreadable' in processes)
    return finding.ok(name, `none found by pod, table or chain name; ${processes.unreadable}`);
  return finding.ok(name, 'none found by process, pod, table or chain name');
}

function valuesOf(reading: Reading<readonly string[]>): readonly string[] {
  return 'value' in reading ? reading.value : [];
}

function podFamilies({ podCidrs, podAddresses }: Ours): Set<Family> {
  return new Set([...podCidrs.map(({ family }) => family), ...podAddresses.map(familyOf)]);
}

/** It has an address of the pod network, or the node's routes lead to pods by it. */
export function carriesPods({ name, addresses }: Bridge, family: Family, ours: Ours): boolean {
  const cidrs = ours.podCidrs.filter(cidr => cidr.family === family);
  return (
    addresses.some(address => cidrs.some(cidr => cidrContains(cidr, address))) ||
    waysOf(ours).some(way => way.device === name && way.addresses.some(at => familyOf(at) === family))
  );
}

function waysOf({ podRoutes }: Ours): readonly PodRoute[] {
  return podRoutes !== undefined && 'value' in podRoutes ? podRoutes.value : [];
}

export function isWithin(inner: Cidr, outer: Cidr): boolean {
  return inner.prefix >= outer.prefix && cidrContains(outer, inner.base);
}

function names(bridges: readonly Bridge[]): string {
  return bridges.map(({ name }) => name).join(', ');
}

// Other programs that enforce network policy on a node, recognized by the names of their processes, pods and chains.

/** Other enforcers, by the name of their process, or by the first part of their pod's name. */
const PROGRAMS: readonly { readonly process: string; readonly pod: string }[] = [
  { process: 'calico-node', pod: 'calico-node-' },
  { process: 'calico-node', pod: 'canal-' },
  { process: 'cilium-agent', pod: 'cilium-' },
  { process: 'kube-router', pod: 'kube-router-' },
  { process: 'antrea-agent', pod: 'antrea-agent-' },
  { process: 'weave-npc', pod: 'weave-net-' },
  { process: 'ovnkube', pod: 'ovnkube-node-' },
  { process: 'kube-network-po', pod: 'kube-network-policies-' },
];
const NOT_ENFORCERS = /^cilium-(operator|envoy)-/;

/** Tables of their own. kindnetd has one since it enforces policy: kind 0.24. */
const TABLES = new Set([
  'calico',
  'kindnet-network-policies',
  'kube-network-policies',
  'kube-router-filter-ipv4',
  'kube-router-filter-ipv6',
]);

/** First parts of the names of chains in the tables that iptables shares. k3s brings kube-router's without a pod. */
const CHAINS: readonly string[] = [
  'ANTREA-',
  'CILIUM_',
  'KUBE-NWPLCY-',
  'KUBE-POD-FW-',
  'KUBE-ROUTER-',
  'WEAVE-NPC',
  'cali-',
];

/** `process calico-node`, or undefined. */
function enforcingProcess(process: string): string | undefined {
  return PROGRAMS.some(program => program.process === process) ? `process ${process}` : undefined;
}

/** `pod calico-node-x7d2f`, or undefined. */
function enforcingPod(name: string): string | undefined {
  const isOne = PROGRAMS.some(({ pod }) => name.startsWith(pod)) && !NOT_ENFORCERS.test(name);
  return isOne ? `pod ${name}` : undefined;
}

/**
 * The enforcer to which a chain of nf_tables belongs, as text: `table calico`, `chains KUBE-ROUTER-*`; undefined if
 * there is none.
 */
export function enforcingChain(table: string, chain: string): string | undefined {
  if (TABLES.has(table)) return `table ${table}`;
  const start = CHAINS.find(start => chain.startsWith(start));
  return start && `chains ${start}*`;
}
