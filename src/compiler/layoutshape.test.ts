/**
 * The shape of the current layout. If this test fails, the layout has changed: count LAYOUT up if a release had the one before,
 * record that one (test/layouts/README.md), and write the new shape down here.
 */
import { expect, test } from 'vitest';
import { layoutCluster } from '../../test/support/agent/layouts.ts';
import type { BaseHook, NftSet, Table } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import { LAYOUT } from './layout.ts';

test(`layout ${LAYOUT} is these hooks, chains and sets`, () => {
  const state = layoutCluster();
  const tunnels = { ports: [8472], protocols: [] };
  const links = { uplinks: [], podBridges: [], podPorts: [], tunnels };
  state.apply({ type: 'node', key: 'n1', value: { ...state.nodes.get('n1')!, links } });
  const { tables } = compile(state, 'n1', 'deny', 'ours');
  const shape = new Set([...tables.values()].flatMap(shapeOf));
  expect([...shape].sort()).toEqual(SHAPE);
});

function shapeOf({ chains, sets }: Table): string[] {
  const lines = [
    ...Array.from(chains.values(), ({ name, hook }) => `chain ${kindOf(name)}${hookText(hook)}`),
    ...Array.from(sets.values(), set => `set ${kindOf(set.name)}: ${typeText(set)}`),
  ];
  return lines;
}

/** The name without its hash and the readable text behind it. */
function kindOf(name: string): string {
  return name.replace(/-[0-9A-HJKMNP-TV-Z]{8,}.*?(-ports|-baseline|-networkpolicy|-default)?$/, '-#$1');
}

function hookText(hook: BaseHook | undefined): string {
  if (hook === undefined) return '';
  return `: ${hook.type ?? 'filter'} hook ${hook.hook} priority ${hook.priority} policy ${hook.policy}`;
}

function typeText({ key, verdicts, interval, data }: NftSet): string {
  const kind = verdicts ? ' : verdict' : data === undefined ? '' : ` : ${data.join(' . ')}`;
  return `${key.join(' . ')}${kind}${interval ? ' interval' : ''}`.replaceAll(/ipv[46]_addr/g, 'address');
}

const SHAPE: readonly string[] = [
  'chain advertised',
  'chain as-tunnels: filter hook postrouting priority 150 policy accept',
  'chain denied',
  'chain denied-limited',
  'chain denied-link',
  'chain denied-often',
  'chain denied-over',
  'chain eg-#',
  'chain errors',
  'chain forward: filter hook forward priority -150 policy accept',
  'chain from-#',
  'chain from-pod-port',
  'chain from-pod-port-arp',
  'chain from-pod-port-icmpv6',
  'chain from-pod-port-ip6',
  'chain from-pod-port-link',
  'chain from-pods',
  'chain from-pods-to-node',
  'chain host-ports: nat hook prerouting priority -99 policy accept',
  'chain in-#',
  'chain in-#-baseline',
  'chain in-#-networkpolicy',
  'chain ingress',
  'chain input: filter hook input priority -150 policy accept',
  'chain input: filter hook input priority -200 policy accept',
  'chain layout-4',
  'chain leaving: nat hook postrouting priority 100 policy accept',
  'chain mid-stream',
  'chain neighbours',
  'chain not-for-host',
  'chain not-opening',
  'chain output: filter hook output priority 0 policy accept',
  'chain own-errors',
  'chain own-host-ports: nat hook output priority -99 policy accept',
  'chain prerouting: filter hook prerouting priority -200 policy accept',
  'chain probed',
  'chain source: filter hook prerouting priority -300 policy accept',
  'chain to-#',
  'chain to-tunnels',
  'chain tunnels-here',
  'chain tunnels-through',
  'chain unread',
  'set denied-by-link: iface_index',
  'set denied-by-source: address',
  'set denied-silent-links: iface_index',
  'set denied-silent: address',
  'set eg-#-ports: inet_proto . inet_service : verdict',
  'set egress-guard: address',
  'set egress-pods: address : verdict',
  'set error-senders: address . address',
  'set hairpins: address . address',
  'set host-ports: inet_proto . inet_service : address . inet_service',
  'set in-#-ports: inet_proto . inet_service : verdict',
  'set ingress-guard: address',
  'set ingress-pods: address : verdict',
  'set link-senders6: iface_index . ether_addr . address',
  'set named-#: address . inet_proto . inet_service',
  'set nets-#: address interval',
  'set node-addresses: address',
  'set other-ports: iface_index',
  'set own-tunnel-ports: inet_service',
  'set peers-#: address',
  'set pod-macs: iface_index . ether_addr',
  'set pod-networks-#: address interval',
  'set pod-ports: iface_index',
  'set port-macs: ether_addr',
  'set senders6: iface_index . ether_addr . address',
  'set senders: iface_index . ether_addr . address',
  'set tunnel-ends: address',
  'set tunnel-ports: inet_service',
];
