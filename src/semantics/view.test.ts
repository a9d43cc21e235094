import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import { nodeFinder } from './view.ts';

test('nodeFinder() finds a node by each address, and by its status before the interfaces of another', () => {
  const [v4, v6, bridge] = ['172.18.0.1', 'fd00:18::1', '10.1.0.1'] as Address[];
  const cluster = new ClusterState();
  const first = { name: 'n1', labels: {}, addresses: [v4!, v6!], podCidrs: [] };
  const second = { ...first, name: 'n2', addresses: [], interfaceAddresses: [bridge!, v6!] };
  for (const node of [first, second]) cluster.apply({ type: 'node', key: node.name, value: node });
  const nodeWith = nodeFinder(cluster, new Map());
  expect([v4, v6, bridge].map(address => nodeWith(address!)?.name)).toEqual(['n1', 'n1', 'n2']);
  expect(nodeWith('192.0.2.1' as Address)).toBeUndefined();
});

test('nodeFinder() finds a node by the address of its tunnel, as long as no pod has that (N75)', () => {
  const cluster = new ClusterState();
  const tunnel = '10.1.0.0' as Address;
  const node = {
    name: 'n1',
    labels: {},
    addresses: [],
    podCidrs: ['10.1.0.0/24'],
    tunnelAddresses: [tunnel],
  };
  cluster.apply({ type: 'node', key: 'n1', value: node });
  const ofPods = new Set<Address>();
  const nodeWith = nodeFinder(cluster, ofPods);
  expect(nodeWith(tunnel)?.name).toBe('n1');
  ofPods.add(tunnel);
  expect(nodeWith(tunnel)).toBeUndefined();
});
