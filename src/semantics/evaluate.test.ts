import { expect, test } from 'vitest';
import { parseAddress } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import type { Policy } from '../model/policy.ts';
import { EVERYTHING } from '../model/selector.ts';
import { evaluate } from './evaluate.ts';
import { parseFlow } from './flowtext.ts';

const at = (text: string) => parseAddress(text)!;

/** Node n1 at 172.18.0.1 with a bridge at 10.1.0.1, an isolated pod on the bridge, and unknown pods denied. */
function clusterOn(bridge: 'known' | 'unknown'): ClusterState {
  const cluster = new ClusterState();
  const node = { name: 'n1', labels: {}, addresses: [at('172.18.0.1')], podCidrs: ['10.1.0.0/24'] };
  const interfaceAddresses = [at('172.18.0.1'), at('10.1.0.1')];
  const value = bridge === 'known' ? { ...node, interfaceAddresses } : node;
  cluster.apply({ type: 'node', key: 'n1', value });
  const pod = { namespace: 'shop', name: 'web', labels: {}, node: 'n1', addresses: [at('10.1.0.2')] };
  const rest = { hostNetwork: false, finished: false, createdAt: '', ports: [] };
  cluster.apply({ type: 'pod', key: 'shop/web', value: { key: 'shop/web', ...pod, ...rest } });
  return cluster;
}

function isolating(...directions: ('ingress' | 'egress')[]): Policy {
  const rules = Object.fromEntries(directions.map(direction => [direction, []]));
  const subject = { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING } as const;
  const id = 'NetworkPolicy shop/closed';
  return {
    id,
    kind: 'NetworkPolicy',
    name: 'shop/closed',
    tier: 'networkpolicy',
    order: 0,
    subject,
    ...rules,
  };
}

function verdict(cluster: ClusterState, text: string): string {
  return evaluate(cluster, parseFlow(cluster, text), 'deny').verdict;
}

test("evaluate() takes a bridge's address of the node for the node itself, where it is known (N43, N67)", () => {
  const cluster = clusterOn('known');
  expect(verdict(cluster, 'shop/web -> 10.1.0.1:80')).toBe('allow');
  cluster.apply({ type: 'policy', key: 'NetworkPolicy shop/closed', value: isolating('ingress') });
  expect(verdict(cluster, '10.1.0.1 -> shop/web:80')).toBe('allow');
  expect(verdict(cluster, '10.1.0.9 -> shop/web:80')).toBe('deny');
});

test("evaluate() judges what a pod sends to its own node's bridge by the pod's egress (C32)", () => {
  const cluster = clusterOn('known');
  cluster.apply({ type: 'policy', key: 'NetworkPolicy shop/closed', value: isolating('egress') });
  expect(verdict(cluster, 'shop/web -> 10.1.0.1:80')).toBe('deny');
});

test('evaluate() takes such an address for an unknown pod if the node’s interfaces are not known', () => {
  expect(verdict(clusterOn('unknown'), 'shop/web -> 10.1.0.1:80')).toBe('deny');
});

test('evaluate() keeps pods of every node from a tunnel that ends at a bridge of one (N72)', () => {
  const cluster = clusterOn('known');
  const far = {
    ...cluster.pods.get('shop/web')!,
    key: 'far/away',
    namespace: 'far',
    name: 'away',
    node: 'n2',
  } as const;
  cluster.apply({ type: 'pod', key: far.key, value: { ...far, addresses: [at('10.2.0.2')] } });
  expect(verdict(cluster, 'shop/web -> 10.1.0.1/47')).toBe('deny');
  expect(verdict(cluster, 'far/away -> 10.1.0.1/47')).toBe('deny');
  expect(verdict(cluster, 'far/away -> 172.18.0.1/47')).toBe('deny');
});

test('evaluate() keeps pods from a tunnel at an address that bridges of several nodes have, where their own node has it (N72)', () => {
  const cluster = clusterOn('known');
  const interfaceAddresses = [at('10.1.0.1')];
  const node = { name: 'n2', labels: {}, addresses: [at('172.18.0.2')], podCidrs: [], interfaceAddresses };
  cluster.apply({ type: 'node', key: 'n2', value: node });
  expect(verdict(cluster, 'shop/web -> 10.1.0.1/47')).toBe('deny');
  cluster.apply({
    type: 'node',
    key: 'n3',
    value: { ...node, name: 'n3', interfaceAddresses: [at('172.18.0.2')] },
  });
  expect(verdict(cluster, 'shop/web -> 172.18.0.2/47')).toBe('deny');
  // For a pod outside the pod networks the receiving node denies nothing: the pod's own node does.
  const aside = { ...cluster.pods.get('shop/web')!, key: 'shop/aside', name: 'aside' } as const;
  cluster.apply({ type: 'pod', key: aside.key, value: { ...aside, addresses: [at('10.200.0.5')] } });
  const both = [at('192.168.7.1')];
  const own = cluster.nodes.get('n1')!;
  cluster.apply({ type: 'node', key: 'n1', value: { ...own, interfaceAddresses: both } });
  cluster.apply({ type: 'node', key: 'n2', value: { ...node, interfaceAddresses: both } });
  expect(verdict(cluster, 'shop/aside -> 192.168.7.1/47')).toBe('deny');
});
