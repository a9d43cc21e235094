import { beforeEach, expect, test } from 'vitest';
import type { DeviceAddress, Link } from '../../kernel/netlink/route/rtnetlink-read.ts';
import { type Address, networkOf } from '../../model/address.ts';
import { RoutesToNodes } from './noderoutes.ts';

const [A, B] = ['192.0.2.1', '192.0.2.2'] as Address[];
const has = (device: number, text: string): DeviceAddress => {
  const address = text as Address;
  return { device, address, network: networkOf(address, 24) };
};
const link = (index: number, name: string, running = true) => ({ index, name, running }) as Link;

let links: Link[];
let own: DeviceAddress[];
let asked: Address[];
let nowMs: number;
let routes: RoutesToNodes;

beforeEach(() => {
  links = [link(2, 'eth0')];
  own = [has(2, '192.0.2.9')];
  asked = [];
  nowMs = 0;
  const routeTo = async (address: Address) => {
    asked.push(address);
    return undefined;
  };
  routes = new RoutesToNodes(
    { links: async () => links, ownAddresses: async () => own, routeTo },
    () => nowMs,
  );
});

async function askedFor(...addresses: Address[]): Promise<Address[]> {
  expect([...(await routes.to(addresses)).keys()]).toEqual(addresses);
  return asked.splice(0);
}

test('a way is asked for once, those of new nodes as they come', async () => {
  expect(await askedFor(A!)).toEqual([A]);
  expect(await askedFor(A!, B!)).toEqual([B]);
  expect(await askedFor(A!, B!)).toEqual([]);
  expect(await askedFor(B!)).toEqual([]);
  expect(await askedFor(A!, B!), 'a node that was gone').toEqual([A]);
});

test.each<[string, () => void]>([
  ['a link of the node goes down', () => (links = [link(2, 'eth0', false)])],
  ['the node has another link', () => links.push(link(3, 'eth1'))],
  ['the node has another address', () => own.push(has(2, '198.51.100.1'))],
  ['five minutes have gone by', () => (nowMs += 300_000)],
])('all are asked for again when %s', async (_, change) => {
  await askedFor(A!, B!);
  change();
  expect(await askedFor(A!, B!)).toEqual([A, B]);
});

test('a pod that comes changes no way', async () => {
  await askedFor(A!);
  links.push(link(7, 'sl0123456789abc'));
  own.push(has(7, 'fe80::1'));
  nowMs += 299_999;
  expect(await askedFor(A!)).toEqual([]);
});
