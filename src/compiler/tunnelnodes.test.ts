import { expect, test } from 'vitest';
import { type Address, parseCidr } from '../model/address.ts';
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
  const nodes = new TunnelNodes(new Map([['n1', first]]), 'n1', address => ofPods.has(address));
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

test('everywhere is each address of a node that no pod has, or that its status has', () => {
  const ofPods = new Set<Address>();
  const first: Node = { ...node('n1', '172.18.0.1', '10.244.1.9'), podCidrs: ['10.244.1.0/24', 'fd24::/64'] };
  const nodes = new TunnelNodes(new Map([['n1', first]]), 'n1', address => ofPods.has(address));
  const all = ['172.18.0.1', '10.244.1.9', '10.244.1.0', '10.244.1.1', 'fd24::', 'fd24::1'];
  expect(nodes.everywhere(first)).toEqual(all);
  const network = { cidr: parseCidr('172.18.0.0/16')!, except: [] };
  expect(nodes.everywhereWithin(network, first)).toEqual(all.slice(0, 4));
  expect(nodes.everywhereWithin({ ...network, except: [parseCidr('172.18.0.1/32')!] }, first)).toEqual([]);

  ofPods.add(at('10.244.1.1'));
  expect(nodes.nodesWith(ofPods)).toEqual(['n1']);
  expect(nodes.everywhere(first)).toEqual(all.filter(address => address !== '10.244.1.1'));
  ofPods.clear();
  expect(nodes.nodesWith(nodes.givenUp())).toEqual(['n1']);
  nodes.put('n1', undefined);
  expect([nodes.watched.size, nodes.givenUp()]).toEqual([0, []]);
});
