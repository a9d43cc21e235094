import { expect, test } from 'vitest';
import { problemNote } from '../../../model/problem.ts';
import { legacyAddresses } from './legacyaddresses.ts';

function policy(cidr: unknown, except: unknown[] = []) {
  const from = [{ ipBlock: { cidr, except } }];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'p', namespace: 'shop' },
    spec: { ingress: [{}, { from }] },
  };
}

test.each([
  [
    '10.0.0.5/24',
    'has bits set beyond its prefix',
    '10.0.0.0/24, or 10.0.0.5/32 if the one address is meant',
  ],
  ['fd00::5/64', 'has bits set beyond its prefix', 'fd00::/64, or fd00::5/128 if the one address is meant'],
  ['010.0.0.0/8', 'has leading zeros', '10.0.0.0/8'],
  ['10.0.0.0/08', 'has leading zeros', '10.0.0.0/8'],
  ['fd00::/064', 'has leading zeros', 'fd00::/64'],
  ['::ffff:10.0.0.0/104', 'is IPv4 in the form of IPv6', '10.0.0.0/8'],
])('a network that newer API servers refuse: %s', (cidr, what, write) => {
  const found = legacyAddresses(policy(cidr));
  expect(found.map(({ severity, code, object }) => [severity, code, object])).toEqual([
    ['warning', 'legacy-address', 'NetworkPolicy shop/p'],
  ]);
  const [read] = write.split(',');
  expect(problemNote(found[0]!)).toBe(
    `spec.ingress[1].from[0].ipBlock.cidr "${cidr}" ${what}; it is read as ${read}, and API servers of Kubernetes 1.36 and newer refuse it in a new object: write ${write}`,
  );
});

test.each([
  ['10.0.0.0/8'],
  ['0100::/8'],
  ['10.0.0.5/32'],
  ['0.0.0.0/0'],
  ['fd00:0001::/64'],
  ['::/0'],
  ['FD00::/8'],
  ['x'],
  [7],
])('nothing is said of %s', cidr => expect(legacyAddresses(policy(cidr))).toEqual([]));

test('an exception, and the addresses of a Service, are looked at too', () => {
  expect(legacyAddresses(policy('10.0.0.0/8', ['10.1.2.3/16'])).map(({ field }) => field)).toEqual([
    'spec.ingress[1].from[0].ipBlock.except[0]',
  ]);
  const spec = {
    clusterIPs: ['None'],
    externalIPs: ['192.168.01.7'],
    loadBalancerSourceRanges: [' 10.0.0.1/8'],
  };
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec };
  expect(legacyAddresses(service).map(({ field }) => field)).toEqual([
    'spec.loadBalancerSourceRanges[0]',
    'spec.externalIPs[0]',
  ]);
  expect(legacyAddresses({ apiVersion: 'v1', kind: 'ConfigMap', spec })).toEqual([]);
  expect(legacyAddresses(undefined)).toEqual([]);
});
