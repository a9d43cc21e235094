import { expect, test } from 'vitest';
import { address } from './topology.ts';
import { namespaceNames, wiringOf } from './wiring.ts';

const topology = {
  nodes: [{ name: 'worker-1', addresses: [address('192.168.0.1')] }],
  pods: [{ name: 'shop/a-pod-with-a-long-name', node: 'worker-1', addresses: [address('fd00::1')] }],
  outside: [address('192.0.2.1')],
};
const wiring = wiringOf(topology, namespaceNames('x'));

test('wiringOf() names a namespace for each host', () => {
  expect(wiring.namespaces).toEqual(['x.outside', 'x.worker-1', 'x.shop.a-pod-with-a-long-name']);
  expect(wiring.routers).toEqual(['x.outside', 'x.worker-1']);
});

test('wiringOf() keeps interface names within the 15 characters that the kernel allows', () => {
  expect(wiring.links).toEqual([
    'link add eth0 netns x.worker-1 type veth peer name 0-worker-1 netns x.outside',
    'link add eth0 netns x.shop.a-pod-with-a-long-name type veth peer name 0-shop-a-pod-wi netns x.worker-1',
  ]);
});

test('wiringOf() routes a node and its pods down one link, each family over the link-local next hop', () => {
  expect(wiring.inside.get('x.outside')?.slice(1)).toEqual([
    'address add 192.0.2.1/32 dev lo',
    'link set 0-worker-1 addrgenmode none',
    'link set 0-worker-1 up',
    'address add fe80::1/64 dev 0-worker-1 nodad',
    'route add 192.168.0.1/32 via inet6 fe80::2 dev 0-worker-1',
    'route add fd00::1/128 via fe80::2 dev 0-worker-1',
  ]);
});
