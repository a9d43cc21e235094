import { expect, test } from 'vitest';
import { type Address, parseAddress, parseCidr } from '../../model/address.ts';
import type { ClusterEvent, NodeLinks } from '../../model/cluster.ts';
import { InterfaceWatcher, interfaceAddressesOf, type LinkFacts, nodeLinksOf } from './interfacewatcher.ts';

const at = (text: string): Address => parseAddress(text)!;

/** eth0 of the machine, the bridges of pods, containers and virtual machines, and a pod's veth. */
const NODE: LinkFacts = {
  interfaces: [
    { index: 1 },
    { index: 2 },
    { index: 3, kind: 'bridge' },
    { index: 4, kind: 'bridge' },
    { index: 5, kind: 'bridge' },
    { index: 6, kind: 'veth' },
  ],
  addresses: [
    { device: 1, address: at('127.0.0.1') },
    { device: 2, address: at('172.18.0.2') },
    { device: 3, address: at('10.244.1.1') },
    { device: 4, address: at('172.17.0.1') },
    { device: 5, address: at('192.168.122.1') },
  ],
  podCidrs: [parseCidr('10.244.1.0/24')!],
  own: [at('172.18.0.2'), at('10.244.1.1')],
  waysOut: [2, 2],
  waysToPods: [],
};

test.each<[string, Partial<LinkFacts>, NodeLinks]>([
  ['the bridge in the pod network leads to pods, and others do not', {}, { uplinks: [2], podBridges: [3] }],
  [
    'a bridge to pods with addresses of another range',
    { waysToPods: [5, 6] },
    { uplinks: [2], podBridges: [3, 5] },
  ],
  ['a bridge that is the way out is none of pods', { waysOut: [3] }, { uplinks: [2, 3], podBridges: [] }],
  [
    'a bridge with the address of the Node is a way out',
    { own: [at('172.17.0.1')] },
    { uplinks: [2, 4], podBridges: [3] },
  ],
  ['a node without a way out', { waysOut: [], own: [] }, { uplinks: [], podBridges: [3] }],
  ['loopback is no way out', { waysOut: [1], own: [at('127.0.0.1')] }, { uplinks: [], podBridges: [3] }],
  [
    'a bridge whose network is another than the pods’ has its own broadcast address, and one of the pods’ none beside',
    {
      addresses: [
        { device: 2, address: at('172.18.0.2'), broadcasts: [at('172.18.255.255')] },
        { device: 3, address: at('10.244.1.1'), broadcasts: [at('10.244.255.255'), at('10.244.1.255')] },
        { device: 4, address: at('172.17.0.1'), broadcasts: [at('172.17.255.255')] },
      ],
    },
    { uplinks: [2], podBridges: [3], broadcasts: [at('10.244.255.255')] },
  ],
  ['nothing is known of pods', { podCidrs: [], own: [at('172.18.0.2')] }, { uplinks: [2], podBridges: [] }],
])('nodeLinksOf(): %s', (_, change, expected) => {
  expect(nodeLinksOf({ ...NODE, ...change })).toEqual(expected);
});

test("interfaceAddressesOf() is what is the node's own: no loopback, no Service, nothing of a link alone", () => {
  const interfaces = ['lo', 'eth0', 'cni0', 'kube-ipvs0'].map((name, at) => ({ name, index: at + 1 }));
  const addresses = [
    ...[1, 2, 3, 4].map(device => ({ device, address: at(`10.0.${device}.1`) })),
    ...['127.0.0.1', '::1', 'fe80::1', '10.0.3.1'].map(text => ({ device: 1, address: at(text) })),
  ];
  expect(interfaceAddressesOf(interfaces, addresses)).toEqual(['10.0.1.1', '10.0.2.1', '10.0.3.1']);
});

test('an agent’s own Node stays as it was last known, whoever deletes it; others go', () => {
  const links = new InterfaceWatcher({ node: 'n1', bridgeRules: false, portsBefore: [] } as never);
  const gone = ['n1', 'n2'].map((key): ClusterEvent => ({ type: 'node', key }));
  expect(links.merge(gone)).toEqual([gone[1]]);
  links.close();
});
