import { expect, test } from 'vitest';
import type { Node } from '../../../model/cluster.ts';
import { decodeObject } from './decode.ts';

function tunnelOf(annotations: unknown, podCIDRs = ['10.1.0.0/24', 'fd01::/64']): Node['tunnelAddresses'] {
  const addresses = [
    { type: 'InternalIP', address: '192.0.2.1' },
    { type: 'ExternalIP', address: '203.0.113.1' },
    { type: 'InternalIP', address: '2001:db8::1' },
  ];
  const { event, problems } = decodeObject({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', annotations },
    spec: { podCIDRs },
    status: { addresses },
  });
  expect(problems).toEqual([]);
  const { tunnelAddresses, externalIps } = event!.value as Node;
  expect(externalIps).toEqual(['203.0.113.1']);
  return tunnelAddresses;
}

const FLANNEL = 'flannel.alpha.coreos.com';

test('Flannel gives a node the first address of its pod network, in each family of its VXLAN', () => {
  const vxlan = { [`${FLANNEL}/backend-type`]: 'vxlan', [`${FLANNEL}/public-ip`]: '192.0.2.1' };
  expect(tunnelOf(vxlan)).toEqual(['10.1.0.0']);
  const both = { ...vxlan, [`${FLANNEL}/public-ipv6`]: '2001:db8::1' };
  expect(tunnelOf(both)).toEqual(['10.1.0.0', 'fd01::']);
  expect(tunnelOf(both, [])).toBeUndefined();
});

test('the interfaces have the names that the tool gives them', () => {
  const { event } = decodeObject({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      annotations: {
        [`${FLANNEL}/backend-type`]: 'vxlan',
        [`${FLANNEL}/backend-data`]: '{"VNI":4096,"VtepMAC":"02:00:00:00:00:01"}',
        [`${FLANNEL}/public-ip`]: '192.0.2.1',
        [`${FLANNEL}/public-ipv6`]: '2001:db8::1',
        'projectcalico.org/IPv4IPIPTunnelAddr': '10.1.0.9',
      },
    },
    spec: { podCIDRs: ['10.1.0.0/24', 'fd01::/64'] },
  });
  expect(event!.value).toMatchObject({
    tunnelAddresses: ['10.1.0.9', '10.1.0.0', 'fd01::'],
    tunnelDevices: ['tunl0', 'flannel.4096', 'flannel-v6.1'],
  });
});

test.each([
  ['wireguard', ['10.1.0.0', 'fd01::'], ['flannel-wg', 'flannel-wg-v6']],
  ['ipip', ['10.1.0.0'], ['flannel.ipip']],
  ['udp', ['10.1.0.0'], ['flannel0']],
])('so does the back end %s', (backEnd, tunnelAddresses, tunnelDevices) => {
  const annotations = {
    [`${FLANNEL}/backend-type`]: backEnd,
    [`${FLANNEL}/public-ip`]: '192.0.2.1',
    [`${FLANNEL}/public-ipv6`]: '2001:db8::1',
  };
  const { event } = decodeObject({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', annotations },
    spec: { podCIDRs: ['10.1.0.0/24', 'fd01::/64'] },
  });
  expect(event!.value).toMatchObject({ tunnelAddresses, tunnelDevices });
});

test.each([
  [
    'a name of JavaScript',
    { [`${FLANNEL}/backend-type`]: 'constructor', [`${FLANNEL}/public-ip`]: '192.0.2.1' },
  ],
  ['no text', { [`${FLANNEL}/backend-type`]: ['vxlan'], [`${FLANNEL}/public-ip`]: '192.0.2.1' }],
  ['host-gw', { [`${FLANNEL}/backend-type`]: 'host-gw', [`${FLANNEL}/public-ip`]: '192.0.2.1' }],
  ['no back end', { [`${FLANNEL}/public-ip`]: '192.0.2.1' }],
  ['an address of neither family', { [`${FLANNEL}/backend-type`]: 'vxlan', [`${FLANNEL}/public-ip`]: 'n1' }],
  ['an address of another tool', { 'example.org/IPv4VXLANTunnelAddr': '10.1.0.9' }],
  ['text that is no address', { 'projectcalico.org/IPv4VXLANTunnelAddr': '10.1.0.9/32' }],
  ['a number', { 'network.cilium.io/ipv4-cilium-host': 10 }],
  ['no map', ['network.cilium.io/ipv4-cilium-host']],
])('a node sends from no tunnel by %s', (_, annotations) => {
  expect(tunnelOf(annotations)).toBeUndefined();
});

test.each([
  'projectcalico.org/IPv4IPIPTunnelAddr',
  'projectcalico.org/IPv4VXLANTunnelAddr',
  'projectcalico.org/IPv6VXLANTunnelAddr',
  'projectcalico.org/IPv4WireguardInterfaceAddr',
  'projectcalico.org/IPv6WireguardInterfaceAddr',
  'network.cilium.io/ipv4-cilium-host',
  'network.cilium.io/ipv6-cilium-host',
])('%s is an address from which the node sends', annotation => {
  expect(tunnelOf({ [annotation]: 'fd01::9' })).toEqual(['fd01::9']);
});

test('a node has Flannel whatever its back end is called', () => {
  const nodeWith = (annotations: object) =>
    decodeObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', annotations } }).event!
      .value as Node;
  expect(nodeWith({ [`${FLANNEL}/backend-type`]: 'host-gw' }).hasFlannel).toBe(true);
  expect(nodeWith({ [`${FLANNEL}/public-ip`]: '192.0.2.1' }).hasFlannel).toBeUndefined();
});
