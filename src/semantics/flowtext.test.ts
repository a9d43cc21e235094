import { describe, expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import type { Address } from '../model/address.ts';
import { ClusterState, type PodKey } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import { FlowTextError, flowText, parseFlow, parseFlowPieces } from './flowtext.ts';

const cluster = clusterOf({
  'x/a': ['10.0.0.1', 'fd00::1'],
  'x/b': ['10.0.0.2', 'fd00::2'],
  'x/six': ['fd00::6', '10.0.0.6'],
  'x/only6': ['fd00::66'],
  'x/only4': ['10.0.0.4'],
  'x/new': [],
});

describe('parseFlow() reads', () => {
  test.each<[string, object]>([
    ['x/a -> x/b:80', { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 80 }],
    ['x/a->x/b:80/udp', { from: '10.0.0.1', to: '10.0.0.2', protocol: 'UDP', port: 80 }],
    ['x/a -> x/b', { from: '10.0.0.1', to: '10.0.0.2', protocol: 'ICMP' }],
    ['x/a -> x/b/47', { from: '10.0.0.1', to: '10.0.0.2', protocol: 47 }],
    ['x/a -> x/b@6:80/SCTP', { from: 'fd00::1', to: 'fd00::2', protocol: 'SCTP', port: 80 }],
    ['x/a@6 -> x/b:80', { from: 'fd00::1', to: 'fd00::2', protocol: 'TCP', port: 80 }],
    ['x/six -> x/b', { from: 'fd00::6', to: 'fd00::2', protocol: 'ICMP' }],
    ['x/a -> x/only6', { from: 'fd00::1', to: 'fd00::66', protocol: 'ICMP' }],
    ['x/six -> 192.0.2.7:443', { from: '10.0.0.6', to: '192.0.2.7', protocol: 'TCP', port: 443 }],
    ['192.0.2.7 -> x/a:65535', { from: '192.0.2.7', to: '10.0.0.1', protocol: 'TCP', port: 65535 }],
    ['fd00::9 -> x/a/ICMPv6', { from: 'fd00::9', to: 'fd00::1', protocol: 'ICMP' }],
    ['[fd00::9] -> [FD00:0::8]:53/UDP', { from: 'fd00::9', to: 'fd00::8', protocol: 'UDP', port: 53 }],
    ['x/a -> fd00::8', { from: 'fd00::1', to: 'fd00::8', protocol: 'ICMP' }],
    ['x/a -> x/b:http', { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 8080 }],
    ['x/a -> 10.0.0.2:http', { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 8080 }],
    ['x/a -> [fd00::2]:http', { from: 'fd00::1', to: 'fd00::2', protocol: 'TCP', port: 8080 }],
    ['x/a -> x/a:80/6', { from: '10.0.0.1', to: '10.0.0.1', protocol: 'TCP', port: 80 }],
    [
      'x/a -> x/a:80 via service',
      { from: '10.0.0.1', to: '10.0.0.1', protocol: 'TCP', port: 80, viaService: true },
    ],
  ])('%s', (text, flow) => {
    expect(parseFlow(cluster, text)).toEqual(flow);
  });
});

test('parseFlow() asks for the address of a node', () => {
  const { cluster } = clusterView(
    '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] } }',
  );
  expect(() => parseFlow(cluster, '10.0.0.1 -> node/n1:80')).toThrow(
    'there is no pod node/n1; a node is asked about by its address: 172.18.0.2',
  );
});

describe('parseFlow() refuses', () => {
  test.each([
    ['x/a x/b:80', 'cannot parse "x/a x/b:80": expected FROM -> TO'],
    ['x/a -> x/b -> x/c', 'expected FROM -> TO'],
    ['x/a -> 127.0.0.1:80', '"127.0.0.1:80": a packet to or from a loopback address never leaves its pod'],
    ['127.8.8.8 -> x/a:80', 'loopback'],
    ['x/a -> [::1]:80', 'loopback'],
    ['x/a -> ::ffff:127.0.0.1', 'loopback'],
    ['x/a -> web', '"web" is neither namespace/pod nor an address'],
    ['x/a -> x/gone:80', 'there is no pod x/gone (for a Service, ask for a pod behind it)'],
    ['x/a -> web.x.svc:80', 'nor an address (for a Service, ask for a pod behind it)'],
    ['x/onlyfour -> x/a:80', 'there is no pod x/onlyfour'],
    ['x/onyl4 -> x/a:80', 'there is no pod x/onyl4; did you mean x/only4?'],
    ['x/new -> x/a:80', 'pod x/new has no address yet'],
    ['x/a -> 10.0.0.999:80', '"10.0.0.999" is not an address'],
    ['x/a -> [fd00::g]:80', '"fd00::g" is not an address'],
    ['x/a -> fd00::2:80', 'for port 80 write [fd00::2]:80'],
    ['x/a -> x/b:0', '"0" is not a port from 1 to 65535'],
    ['x/a -> x/b:65536', '"65536" is not a port from 1 to 65535'],
    ['x/a -> x/b:htpt', /"htpt" is not a port from 1 to 65535, nor the name of one of x\/b$/],
    ['x/a -> x/b:http/UDP', /"http" is not a port from 1 to 65535, nor the name of one of x\/b$/],
    ['x/a -> 10.0.0.77:http', /"http" is not a port from 1 to 65535, nor the name of one of 10.0.0.77$/],
    ['x/a -> x/b:', /"" is not a port from 1 to 65535$/],
    ['x/a -> x/b/TCP', 'TCP needs a port'],
    ['x/a -> x/b:80/ICMP', 'protocol ICMP has no ports'],
    ['x/a -> x/b/QUIC', '"QUIC" is not TCP, UDP, SCTP, ICMP or an IP protocol number'],
    ['x/a -> x/b/256', '"256" is not TCP'],
    ['x/a:80 -> x/b:80', 'only the destination has a port'],
    ['x/a@4 -> x/b@6:80', 'not of one address family'],
    ['x/only4 -> x/only6', 'no address family in common'],
    ['x/only4 -> fd00::8', 'pod x/only4 has no IPv6 address'],
  ] as [string, string | RegExp][])('%s', (text, message) => {
    expect(() => parseFlow(cluster, text)).toThrow(FlowTextError);
    expect(() => parseFlow(cluster, text)).toThrow(message);
  });
});

test.each([
  ['y/done -> x/a:80', 'pod y/done has finished: its address (10.0.0.9) is free for other pods'],
  ['x/a -> y/done:80', 'pod y/done has finished'],
  ['y/older -> x/a:80', 'pod y/older reports 10.0.0.9, which belongs to pod y/younger now'],
])('parseFlow() of %s does not answer about the pod that has the address now', (text, message) => {
  const state = clusterOf({
    'x/a': ['10.0.0.1'],
    ...Object.fromEntries(LATER.map(key => [key, ['10.0.0.9']])),
  });
  for (const [key, change] of Object.entries({
    'y/done': { finished: true },
    'y/younger': { createdAt: '2026-01-02T00:00:00Z' },
  })) {
    const value = { ...state.pods.get(key as PodKey)!, ...change };
    state.apply({ type: 'pod', key: value.key, value });
  }
  expect(() => parseFlow(state, text)).toThrow(FlowTextError);
  expect(() => parseFlow(state, text)).toThrow(message);
  expect(parseFlow(state, 'y/younger -> x/a:80').from).toBe('10.0.0.9');
});

const LATER = ['y/done', 'y/older', 'y/younger'] as const;

test('parseFlowPieces() reads the two arguments of a command', () => {
  expect(parseFlowPieces(cluster, 'x/a', 'x/b:53/UDP')).toEqual(parseFlow(cluster, 'x/a -> x/b:53/UDP'));
});

describe('flowText() reads back as the same flow', () => {
  test.each<Flow>([
    { from: '10.0.0.1' as Address, to: '10.0.0.2' as Address, protocol: 'TCP', port: 80 },
    { from: 'fd00::1' as Address, to: 'fd00::2' as Address, protocol: 'UDP', port: 53 },
    { from: 'fd00::1' as Address, to: 'fd00::2' as Address, protocol: 'ICMP' },
    { from: '10.0.0.1' as Address, to: '10.0.0.2' as Address, protocol: 47, viaService: true },
  ])('$from -> $to $protocol', flow => {
    expect(parseFlow(cluster, flowText(flow))).toEqual(flow);
  });
});

function clusterOf(pods: Record<PodKey, string[]>): ClusterState {
  const cluster = new ClusterState();
  for (const [key, addresses] of Object.entries(pods)) {
    const [namespace, name] = key.split('/') as [string, string];
    const rest = { labels: {}, node: 'n', hostNetwork: false, finished: false, createdAt: '' };
    const ports = [{ name: 'http', protocol: 'TCP' as const, port: 8080 }];
    const value = { key: key as PodKey, namespace, name, addresses: addresses as Address[], ports, ...rest };
    cluster.apply({ type: 'pod', key: value.key, value });
  }
  return cluster;
}
