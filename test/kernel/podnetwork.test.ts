/** What others do to attached pods behind the agent's back, and what runtimes do in an order that nobody expects. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RtnetlinkSocket } from '../../src/kernel/netlink/route/rtnetlink-socket.ts';
import { familyOf } from '../../src/model/address.ts';
import type { Node } from '../../src/model/cluster.ts';
import type { PodNetworkOptions } from '../../src/network/attach/podnetwork.ts';
import { NetworkError } from '../../src/network/error.ts';
import type { HostPort } from '../../src/network/hostports/hostports.ts';
import { clusterOf, openPodNetwork, type TestNetwork } from '../support/pods/podnetwork.ts';
import { hostPortsOf } from '../support/pods/podrules.ts';
import { PodSite } from '../support/pods/podsite.ts';

const NODE: Node = { name: 'n', labels: {}, addresses: [], podCidrs: ['10.83.0.0/24', 'fd83::/64'] };

let site: PodSite;
let opened: TestNetwork;
const warned: string[] = [];

beforeEach(async () => {
  site = await PodSite.build();
  warned.length = 0;
});

afterEach(async () => {
  vi.restoreAllMocks();
  await opened?.close();
  await site.close();
});

async function open(rest: Partial<PodNetworkOptions> = {}): Promise<void> {
  const warn = (_: object, message: string) => void warned.push(message);
  opened = await openPodNetwork(site, 'n', () => clusterOf(NODE), { log: { info: () => {}, warn }, ...rest });
  await opened.network.setUp().catch(() => {});
}

const port = (hostPort: number): HostPort => ({ protocol: 'TCP', hostPort, podPort: 80 });

async function attach(name: string, hostPorts: readonly HostPort[] = [], sandbox = name, at = 'eth0') {
  const namespace = await site.add(name);
  return opened.network.attach({ pod: `shop/${name}`, sandbox, interface: at, namespace, hostPorts });
}

/** The agent is gone, and the tables are anybody's. */
async function orphaned(): Promise<void> {
  await opened.close();
  await expect.poll(() => nft('list', 'table', 'ip', 'sluice')).not.toContain('owner');
}

const nft = (...words: string[]) => site.exec(site.node, 'nft', words);
const ip = (...words: string[]) => site.exec(site.node, 'ip', words);

test('nobody else flushes what pods need, and the next agent has it as it was and writes nothing', async () => {
  await open();
  await attach('web', [port(80)]);
  nft('flush', 'ruleset');
  const before = nft('list', 'table', 'ip', 'sluice');
  expect(before).toContain('tcp . 80 comment "shop/web"');
  expect(() => nft('delete', 'table', 'ip', 'sluice')).toThrow('Operation not permitted');
  await orphaned();
  await open();
  expect(nft('list', 'table', 'ip', 'sluice')).toBe(before);
  expect(opened.rules.committed).toEqual([]);
  expect((await hostPortsOf(site)).map(({ owner }) => owner)).toEqual(['shop/web', 'shop/web']);
});

test('a node without rules says that it takes no pods, until it has some', async () => {
  let unprogrammed: NetworkError | undefined = new NetworkError('unavailable', 'no rules yet');
  await open({ unprogrammed: () => unprogrammed });
  expect((await opened.network.facts()).refuses).toBe('no rules yet');
  unprogrammed = undefined;
  expect(await opened.network.facts()).toEqual({ unreachable: [] });
});

test('an address whose route somebody took is not given out, comes back, and is the pod’s when it asks again', async () => {
  const claimed = ['10.83.0.9', 'fd83::9'];
  await open({ claimed: () => claimed as never });
  const web = await attach('web');
  ip('link', 'set', web.device, 'down');
  ip('link', 'set', web.device, 'up');
  expect(ip('route')).not.toContain(web.device);
  await expect(opened.network.check({ sandbox: 'web', interface: 'eth0' })).rejects.toThrow('only half');
  await opened.network.collect();
  expect(warned).toEqual([
    `mended ${web.device} of shop/web: its route to ${web.addresses.join(' and ')} was gone`,
  ]);
  for (const address of web.addresses)
    expect(ip(familyOf(address) === 'ip' ? '-4' : '-6', 'route', 'show', address)).toContain(web.device);
  ip('link', 'set', web.device, 'down');
  ip('link', 'set', web.device, 'up');
  expect((await attach('web')).addresses).toEqual(web.addresses);
  const others = [];
  for (const name of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'])
    others.push(...(await attach(name)).addresses);
  expect(others).not.toContain('10.83.0.9');
  expect(new Set([...others, ...web.addresses]).size).toBe(22);
});

test('a set that somebody emptied keeps no port from being closed and opened', async () => {
  await open();
  await attach('web', [port(80)]);
  await orphaned();
  for (const family of ['ip', 'ip6']) nft('flush', 'set', family, 'sluice', 'hairpins');
  await open();
  await opened.network.detach({ sandbox: 'web', interface: 'eth0' });
  await opened.rules.programmed();
  expect(await hostPortsOf(site)).toEqual([]);
  await attach('db', [port(80)]);
  expect(await hostPortsOf(site)).toHaveLength(2);
});

test('a sandbox that is detached while it is being attached is gone', async () => {
  await open();
  for (const waitMs of [0, 1, 2, 5, 10]) {
    const name = `pod-${waitMs}`;
    const namespace = await site.add(name);
    // Called here and now, so that it is first in line.
    const attaching = opened.network.attach({
      pod: `shop/${name}`,
      sandbox: name,
      interface: 'eth0',
      namespace,
      hostPorts: [],
    });
    await setTimeout(waitMs);
    await Promise.all([attaching, opened.network.detachSandbox(name)]);
    expect(await opened.links.attachments(), `after ${waitMs} ms`).toEqual([]);
  }
});

test('a sandbox has one interface', async () => {
  await open();
  await attach('web');
  await expect(attach('web', [], 'web', 'net1')).rejects.toThrow(
    'sandbox web of shop/web has eth0 already: Sluice gives a pod one interface',
  );
  await attach('web');
  await opened.network.detach({ sandbox: 'web', interface: 'eth0' });
  await attach('web', [], 'web', 'net1');
});

test('an attach sends 14 changes in three sends, four questions, and lists addresses and routes once', async () => {
  await open();
  await attach('first');
  const changes = vi.spyOn(RtnetlinkSocket.prototype, 'change');
  const questions = vi.spyOn(RtnetlinkSocket.prototype, 'getEach');
  const dumps = vi.spyOn(RtnetlinkSocket.prototype, 'dump');
  opened.rules.committed.length = 0;
  await attach('second');
  // A pair of veths; the node's end with a route and a neighbour for each family; the pod's end, likewise, and its loopback.
  expect(changes.mock.calls.map(([steps]) => steps.length)).toEqual([1, 5, 8]);
  expect(dumps.mock.calls.map(([{ what }]) => what)).toEqual([
    'list addresses',
    'list routes',
    'list routes',
  ]);
  const asked = questions.mock.calls.map(([steps]) => steps.length);
  // Until the link carries packets both ends are asked again, the pod's about its addresses too.
  const untilReady = asked.filter(count => count > 1).length;
  expect(untilReady).toBeGreaterThan(0);
  expect(asked.length - 2 * untilReady).toBe(4);
  expect(opened.rules.committed).toEqual([]); // no port of the node leads to it
});
