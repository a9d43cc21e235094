import { expect, test } from 'vitest';
import { type Address, parseAddress, parseCidr } from '../model/address.ts';
import type { PodPort } from '../model/cluster.ts';
import { type PodPortFacts, type PortFacts, podPortsOf } from './podports.ts';

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
  ['a port that is gone is forgotten', { before: [known(5, '10.0.1.5')] }, []],
])('podPortsOf(): %s', (_, facts, ports) => {
  expect(podPortsOf({ ...FACTS, ...facts })).toEqual(ports);
});
