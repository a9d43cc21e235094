import { expect, test } from 'vitest';
import { ClusterState, type Pod } from '../../src/model/cluster.ts';
import { address, topologyOf } from './topology.ts';

const pod = (name: string, node: string, at: string[], more: Partial<Pod> = {}): Pod => ({
  key: `shop/${name}`,
  namespace: 'shop',
  name,
  labels: {},
  node,
  addresses: at.map(address),
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
  ...more,
});

function clusterOf(...pods: Pod[]): ClusterState {
  const cluster = new ClusterState();
  const node = { name: 'one', labels: {}, addresses: [address('192.168.0.1')], podCidrs: [] };
  cluster.apply({ type: 'node', key: 'one', value: node });
  for (const value of pods) cluster.apply({ type: 'pod', key: value.key, value });
  return cluster;
}

test('topologyOf() places pods at their nodes and mentioned strangers outside', () => {
  const cluster = clusterOf(pod('web', 'one', ['10.0.0.1', 'fd00::1']), pod('db', 'two', ['10.0.1.1']));
  expect(topologyOf(cluster, ['10.0.0.1', '192.168.0.1', '192.0.2.1'].map(address))).toEqual({
    nodes: [
      { name: 'one', addresses: ['192.168.0.1'] },
      { name: 'two', addresses: [] },
    ],
    pods: [
      { name: 'shop/db', node: 'two', addresses: ['10.0.1.1'] },
      { name: 'shop/web', node: 'one', addresses: ['10.0.0.1', 'fd00::1'] },
    ],
    outside: ['192.0.2.1'],
  });
});

test('topologyOf() gives a hostNetwork pod no host but its node, and that its addresses', () => {
  const cluster = clusterOf(pod('agent', 'one', ['192.168.0.1', 'fd01::1'], { hostNetwork: true }));
  expect(topologyOf(cluster)).toEqual({
    nodes: [{ name: 'one', addresses: ['192.168.0.1', 'fd01::1'] }],
    pods: [],
    outside: [],
  });
});

test('topologyOf() gives an address to the pod that owns it, and none to finished or waiting pods', () => {
  const cluster = clusterOf(
    pod('old', 'one', ['10.0.0.1'], { createdAt: '2026-01-01T00:00:00Z' }),
    pod('young', 'one', ['10.0.0.1'], { createdAt: '2026-01-02T00:00:00Z' }),
    pod('done', 'one', ['10.0.0.2'], { finished: true }),
    pod('waiting', '', ['10.0.0.3']),
  );
  expect(topologyOf(cluster).pods).toEqual([{ name: 'shop/young', node: 'one', addresses: ['10.0.0.1'] }]);
});

test('address() refuses what is no address', () => {
  expect(() => address('10.0.0.256')).toThrow('"10.0.0.256" is not an IP address');
});
