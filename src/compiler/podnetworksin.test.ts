import { expect, test } from 'vitest';
import { cidrText } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import { compile } from './compile.ts';
import { podNetworksIn } from './podnetworksin.ts';

test.each([
  [[]],
  [['10.244.1.0/24']],
  [['10.0.0.0/8', 'fd00:1::/64']],
  [['10.244.1.128/25', '10.244.9.7/32', 'fd00::1/128', 'fd00:2::/49']],
])('podNetworksIn() reads %j from the rules that were made of it', podCidrs => {
  const cluster = new ClusterState();
  const value = { name: 'n1', labels: {}, addresses: [], podCidrs };
  cluster.apply({ type: 'node', key: 'n1', value });
  for (const unknownPods of ['allow', 'deny'] as const)
    for (const podLinks of ['ours', 'others'] as const)
      expect(podNetworksIn(compile(cluster, 'n1', unknownPods, podLinks)).map(cidrText)).toEqual(podCidrs);
});

test('podNetworksIn() of nothing is nothing', () => {
  expect(podNetworksIn({ tables: new Map() })).toEqual([]);
});
