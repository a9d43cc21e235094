import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import type { Node } from '../model/cluster.ts';
import { TunnelNodes } from './tunnelnodes.ts';

const at = (text: string) => text as Address;

/** A node that sends from this address into its tunnels, in the pod network 10.244.0.0/16. */
const node = (name: string, internalIp: string, tunnelAddress: string): Node => ({
  name,
  labels: {},
  addresses: [at(internalIp)],
  podCidrs: ['10.244.0.0/16'],
  tunnelAddresses: [at(tunnelAddress)],
});

test('a tunnel address is that of the one node that claims it, as long as the node is there and no pod has it', () => {
  const ofPods = new Set<Address>();
  const first = node('n1', '172.18.0.1', '10.244.1.0');
  const nodes = new TunnelNodes([first], address => ofPods.has(address));
  expect(nodes.of('n1')).toEqual(['10.244.1.0']);

  expect(nodes.put('n2', node('n2', '172.18.0.2', '10.244.1.0')).sort()).toEqual(['n1', 'n2']);
  expect([nodes.of('n1'), nodes.of('n2')]).toEqual([[], []]);

  expect(nodes.put('n2', undefined).sort()).toEqual(['n1', 'n2']);
  expect([nodes.of('n1'), nodes.of('n2'), nodes.internalIpsOf('n2')]).toEqual([['10.244.1.0'], [], []]);
  expect(nodes.put('n2', undefined)).toEqual([]);

  ofPods.add(at('10.244.1.0'));
  expect(nodes.of('n1')).toEqual([]);
  ofPods.clear();
  expect(nodes.givenUp()).toEqual(['10.244.1.0']);
  expect(nodes.of('n1')).toEqual(['10.244.1.0']);
});
