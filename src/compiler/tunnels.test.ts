import { describe, expect, test } from 'vitest';
import { type Address, parseAddress } from '../model/address.ts';
import { ClusterState, type Node, type NodeLinks } from '../model/cluster.ts';
import { packet } from '../nft/trace/packet.ts';
import { trace } from '../nft/trace/trace.ts';
import { compile } from './compile.ts';
import { nodeLinksIn } from './linkmatches.ts';

const at = (text: string) => parseAddress(text) as Address;

function clusterOf(links: Partial<NodeLinks> = {}): ClusterState {
  const state = new ClusterState();
  for (const n of [1, 2, 3]) {
    const own = n === 1 ? { links: { uplinks: [], podBridges: [], ...links } } : {};
    const value: Node = {
      name: `n${n}`,
      labels: {},
      addresses: [at(`172.18.0.${n}`)],
      podCidrs: [`10.244.${n}.0/24`],
      ...own,
    };
    state.apply({ type: 'node', key: value.name, value });
  }
  return state;
}

type Way = readonly [hook: 'forward' | 'input', by: 'pods' | 'elsewhere'];

const verdictOf = ([hook, by]: Way, from: string, to: string, port: number, links?: Partial<NodeLinks>) => {
  const bytes = packet({ from: at(from), to: at(to), protocol: 'UDP', port });
  const around = by === 'pods' ? { iif: 7, iifkind: 'veth' } : {};
  return trace(compile(clusterOf(links), 'n1'), 'ip', hook, bytes, 'new', around).verdict;
};

describe('what is for a tunnel', () => {
  const [OUT, THROUGH, IN]: Way[] = [
    ['forward', 'pods'],
    ['forward', 'elsewhere'],
    ['input', 'elsewhere'],
  ];

  test.each([
    ['from a pod to a node by its status', OUT!, '10.244.1.5', '172.18.0.2', 'drop'],
    ['to the first address of its pod network', OUT!, '10.244.1.5', '10.244.2.0', 'drop'],
    ['to the second', OUT!, '10.244.1.5', '10.244.2.1', 'drop'],
    ['to any other, which may be a pod’s', OUT!, '10.244.1.5', '10.244.2.2', 'accept'],
    [
      'out of the pod networks, where the node has no such tunnel',
      OUT!,
      '10.244.1.5',
      '203.0.113.7',
      'accept',
    ],
    ['to this node, from a pod of another', IN!, '10.244.2.5', '172.18.0.1', 'drop'],
    ['from another node', IN!, '172.18.0.2', '172.18.0.1', 'accept'],
    [
      'through this node, as by a port of it that leads to a Service',
      THROUGH!,
      '10.244.2.5',
      '10.244.3.0',
      'drop',
    ],
    ['through this node to a pod', THROUGH!, '10.244.2.5', '10.244.1.5', 'accept'],
  ])('%s', (_, way, from, to, expected) => {
    expect(verdictOf(way, from, to, 8472)).toBe(expected);
    expect(verdictOf(way, from, to, 8473)).toBe('accept');
  });

  test('of the node’s own does not leave the pod networks, and is known by its port', () => {
    const links = { tunnels: { ports: [8472, 9999], protocols: [47] } };
    for (const port of [8472, 9999]) {
      expect(verdictOf(OUT!, '10.244.1.5', '203.0.113.7', port, links)).toBe('drop');
      expect(verdictOf(OUT!, '10.244.1.5', '10.244.2.2', port, links)).toBe('accept');
      expect(verdictOf(OUT!, '10.244.1.5', '10.244.2.0', port, links)).toBe('drop');
      expect(verdictOf(IN!, '10.244.2.5', '172.18.0.1', port, links)).toBe('drop');
    }
    expect(verdictOf(OUT!, '10.244.1.5', '203.0.113.7', 4789, links)).toBe('accept');
  });

  test('of the node’s own is not reached by a Service, whatever its source address is', () => {
    const links = { tunnels: { ports: [9999], protocols: [] } };
    const through = (to: string, isTranslated: boolean, port = 9999) => {
      const bytes = packet({ from: at('172.18.0.2'), to: at(to), protocol: 'UDP', port });
      const connection = { isReply: false, isTranslated, to: at('172.18.0.1'), port: 30_000 };
      return trace(compile(clusterOf(links), 'n1'), 'ip', 'forward', bytes, 'new', { connection }).verdict;
    };
    for (const to of ['172.18.0.3', '10.244.3.1', '192.168.7.13']) {
      expect(through(to, true), to).toBe('drop');
      expect(through(to, false), to).toBe('accept');
      expect(through(to, true, 4789), to).toBe('accept');
    }
    expect(through('10.244.3.5', true)).toBe('accept');
  });

  test('of the node’s own has a port that no translated packet leaves with', () => {
    const links = { tunnels: { ports: [9999], protocols: [] } };
    const leaves = (sourcePort: number, how: { isReply?: boolean; isMasqueraded?: boolean } = {}) => {
      const to = at('172.18.0.2');
      const bytes = packet({ from: at('172.18.0.1'), to, protocol: 'UDP', port: 40_000, sourcePort });
      const connection = {
        isReply: false,
        isTranslated: false,
        isMasqueraded: true,
        to,
        port: 40_000,
        ...how,
      };
      return trace(compile(clusterOf(links), 'n1'), 'ip', 'postrouting', bytes, 'new', { connection })
        .verdict;
    };
    expect(leaves(9999)).toBe('drop');
    expect(leaves(9998)).toBe('accept');
    expect(leaves(8472), 'the node has no such tunnel').toBe('accept');
    expect(leaves(9999, { isMasqueraded: false }), 'what the node itself sends').toBe('accept');
    expect(leaves(9999, { isReply: true }), 'what a Service answers').toBe('accept');
    const names = [...compile(clusterOf(), 'n1').tables.get('ip')!.chains.keys()];
    expect(names, 'where the node has no tunnel').not.toContain('as-tunnels');
  });

  test('passes where pods run overlays of their own', () => {
    const links = { podTunnels: 'allow' } as const;
    expect(verdictOf(OUT!, '10.244.1.5', '172.18.0.2', 8472, links)).toBe('accept');
    expect(verdictOf(IN!, '10.244.2.5', '172.18.0.1', 8472, links)).toBe('accept');
  });
});

test.each<Partial<NodeLinks>>([
  {},
  { tunnels: { ports: [4789, 9999], protocols: [4, 41] } },
  { tunnels: { ports: [], protocols: [47] } },
  { podTunnels: 'allow' },
])('nodeLinksIn() reads back which tunnels rules were made of: %j', links => {
  const found = nodeLinksIn(compile(clusterOf(links), 'n1'));
  expect(found).toEqual({ uplinks: [], podBridges: [], ...links });
});
