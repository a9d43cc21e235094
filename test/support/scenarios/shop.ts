import { address } from '../../../bench/lab/topology.ts';
import type { ClusterEvent, Node } from '../../../src/model/cluster.ts';

export * from '../../../bench/shop.ts';

export function nodeEvent(name: string, addresses: readonly string[]): ClusterEvent {
  const value: Node = { name, labels: {}, addresses: addresses.map(address), podCidrs: [] };
  return { type: 'node', key: name, value };
}
