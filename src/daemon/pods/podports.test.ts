import { expect, test } from 'vitest';
import { type Address, parseAddress, parseCidr } from '../../model/address.ts';
import type { PodPort } from '../../model/cluster.ts';
import { bridgePortsOf, type PodPortFacts, type PortFacts, podPortsOf } from './podports.ts';

const at = (...texts: string[]): Address[] => texts.map(text => parseAddress(text)!);

function port(index: number, ...addresses: string[]): PortFacts {
  return { index, namespace: index, mac: `0a:00:00:00:00:0${index}`, addresses: at(...addresses) };
}

function known(index: number, ...addresses: string[]): PodPort {
  return { index, mac: `0a:00:00:00:00:0${index}`, addresses: at(...addresses) };
}

const FACTS: PodPortFacts = {
  ports: [],
  podCidrs: [parseCidr('10.0.1.0/24')!],
  networks: ['10.0.1.0/24', '192.168.0.0/24', 'fe80::/64'].map(text => parseCidr(text)!),
  podAddresses: new Set(),
  ownAddresses: new Set(at('10.0.1.1', '172.18.0.2')),
  before: [],
};

test.each<[string, Partial<PodPortFacts>, PodPort[]]>([
  ['no port', {}, []],
  [
    'pods have all that is theirs, and no loopback',
    { ports: [port(5, '10.0.1.5', '127.0.0.1', '::1', 'fe80::5', '192.0.2.5')] },
    [known(5, '10.0.1.5', '192.0.2.5', 'fe80::5')],
  ],
  [
    'in the order of their indices',
    { ports: [port(6, '10.0.1.6'), port(5, '10.0.1.5')] },
    [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
  ],
  ['no address of the node’s', { ports: [port(5, '10.0.1.5', '10.0.1.1')] }, [known(5, '10.0.1.5')]],
  ['what has the node’s address alone is no pod', { ports: [port(5, '10.0.1.1')] }, []],
  ['what has no address of pods is none of ours', { ports: [port(5, '192.168.0.5', 'fe80::5')] }, []],
  [
    'a pod that the cluster knows, of another network',
    { ports: [port(5, '192.168.0.5')], podAddresses: new Set(at('192.168.0.5')) },
    [known(5, '192.168.0.5')],
  ],
  [
    'an address that two name is that of the older port',
    { ports: [port(6, '10.0.1.6', '10.0.1.5'), port(5, '10.0.1.5')] },
    [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
  ],
  [
    'or of who had it',
    { ports: [port(5, '10.0.1.5', '10.0.1.6'), port(6, '10.0.1.6')], before: [known(6, '10.0.1.6')] },
    [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
  ],
  [
    'two ports of one pod share what is its',
    { ports: [port(5, '10.0.1.5'), { ...port(6, '10.0.1.5'), namespace: 5 }] },
    [known(5, '10.0.1.5'), known(6, '10.0.1.5')],
  ],
  [
    'a pod that took its address away is no less a pod',
    { ports: [port(5, 'fe80::5')], before: [known(5, '10.0.1.5')] },
    [known(5, 'fe80::5')],
  ],
  [
    'a pod that is known has no free address of pods’ networks beside its own',
    {
      ports: [port(5, '10.0.1.5', '10.0.1.77', '192.168.0.77', 'fe80::5', '192.0.2.5')],
      podAddresses: new Set(at('10.0.1.5')),
      before: [known(5, '10.0.1.5', '10.0.1.77')],
    },
    [known(5, '10.0.1.5', '192.0.2.5', 'fe80::5')],
  ],
  [
    'nor in the place of its own, which it keeps',
    {
      ports: [port(5, '10.0.1.77')],
      podAddresses: new Set(at('10.0.1.5')),
      before: [known(5, '10.0.1.5')],
    },
    [known(5, '10.0.1.5')],
  ],
  [
    'unless another pod has that by now',
    {
      ports: [port(5, '10.0.1.77'), port(6, '10.0.1.5')],
      podAddresses: new Set(at('10.0.1.5')),
      before: [known(5, '10.0.1.5')],
    },
    [known(5, '10.0.1.77'), known(6, '10.0.1.5')],
  ],
  [
    'nor what another pod is to have, though it named it first',
    {
      ports: [port(5, '10.0.1.5', '10.0.1.6'), port(6, '10.0.1.6')],
      podAddresses: new Set(at('10.0.1.5', '10.0.1.6')),
      before: [known(5, '10.0.1.5')],
    },
    [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
  ],
  [
    'a pod that takes its neighbour’s hardware address keeps its own',
    {
      ports: [{ ...port(5, '10.0.1.5'), mac: port(6).mac }, port(6, '10.0.1.6')],
      before: [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
    },
    [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
  ],
  [
    'and has none where its own is another pod’s by now',
    {
      ports: [
        { ...port(5, '10.0.1.5'), mac: port(6).mac },
        { ...port(6, '10.0.1.6') },
        { ...port(7, '10.0.1.7'), mac: port(5).mac },
      ],
      before: [known(5, '10.0.1.5'), known(6, '10.0.1.6')],
    },
    [
      { ...known(5, '10.0.1.5'), mac: '00:00:00:00:00:00' },
      known(6, '10.0.1.6'),
      { ...known(7, '10.0.1.7'), mac: port(5).mac },
    ],
  ],
  ['a port that is gone is forgotten', { before: [known(5, '10.0.1.5')] }, []],
])('podPortsOf(): %s', (_, facts, ports) => {
  expect(podPortsOf({ ...FACTS, ...facts })).toEqual(ports);
});

test('podPortsOf() lets a pod send from no more than many times what any pod has, and from its own in any case', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => `198.18.${i >> 8}.${i & 255}`);
  const ports = [port(5, ...many, 'fe80::5', '10.0.1.5'), port(6, ...many, '10.0.1.6')];
  const found = podPortsOf({ ...FACTS, ports, podAddresses: new Set(at('10.0.1.5')) });
  expect(found.map(({ addresses }) => addresses.length)).toEqual([256, 1]);
  expect(found.flatMap(({ addresses }) => addresses)).toEqual(
    expect.arrayContaining(['10.0.1.5', 'fe80::5', '10.0.1.6']),
  );
});

test('bridgePortsOf() tells veths of other bridges, those of pods’ that nobody knows, and where a bridge takes frames for itself', () => {
  const port = (index: number, kind: string, master?: number) => ({
    index,
    name: `port${index}`,
    kind,
    mac: `0a:00:00:00:00:0${index}`,
    ...(master && { master }),
  });
  const interfaces = [
    port(3, 'bridge'),
    port(4, 'veth', 3),
    port(5, 'veth', 3),
    port(6, 'vxlan', 3),
    port(7, 'veth', 9),
    port(8, 'veth'),
    { ...port(2, 'tun', 3), mac: '' },
  ];
  expect(bridgePortsOf(interfaces, [3], [known(4, '10.0.1.4')])).toEqual({
    others: [7],
    unknown: ['port5'],
    macs: ['0a:00:00:00:00:04', '0a:00:00:00:00:05', '0a:00:00:00:00:06'],
  });
});
