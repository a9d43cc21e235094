import { expect, test } from 'vitest';
import { shopPod } from '../../../test/support/scenarios/shop.ts';
import { type Address, parseAddress } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import { parseFlowPieces } from '../../semantics/flowtext.ts';
import { natNote } from './enforcementpoints.ts';

const cluster = new ClusterState();
const addresses = ['172.18.0.1', '10.1.0.1', 'fd18::1'].map(text => parseAddress(text) as Address);
const podCidrs = ['10.1.0.0/24', 'fd01::/64'];
cluster.apply({ type: 'node', key: 'n1', value: { name: 'n1', labels: {}, addresses, podCidrs } });
cluster.apply(shopPod('shop/web', 'n1', ['10.1.0.2', 'fd01::2']));
const proxy = shopPod('kube-system/proxy', 'n1', ['172.18.0.1', 'fd18::1']);
if (proxy.type === 'pod') cluster.apply({ ...proxy, value: { ...proxy.value!, hostNetwork: true } });

test.each([
  ["a node's address", '172.18.0.1:8080', true],
  ["a node's address of IPv6", '[fd18::1]:8080', true],
  ["a node's address within its pod network", '10.1.0.1:8080', true],
  ["what may be a Service's", '10.96.0.10:53/UDP', true],
  ["what may be a Service's, of IPv6", '[fd96::a]:53/UDP', true],
  ['no port, which no NAT of theirs translates', '10.96.0.10', false],
  ['a pod by its name', 'shop/web:80', false],
  ['a pod by its address', '10.1.0.2:80', false],
  ['a pod with the network of its node, by its name', 'kube-system/proxy:10256', false],
  ['an address of the pod network that no pod has', '10.1.0.9:80', false],
])('natNote() of %s: %s, %s', (_, to, noted) => {
  const note = natNote(cluster, to, parseFlowPieces(cluster, 'shop/web', to));
  expect(note?.startsWith('NAT is not followed: ') ?? false).toBe(noted);
});

test('natNote() says for which port and what to ask instead', () => {
  const to = '172.18.0.1:8080';
  expect(natNote(cluster, to, parseFlowPieces(cluster, 'shop/web', to))).toBe(
    'NAT is not followed: where a Service or a host port leads from 172.18.0.1 port 8080 to a pod, ask for that pod',
  );
});
