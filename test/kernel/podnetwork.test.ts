/** What others do to attached pods behind the agent's back, and what runtimes do in an order that nobody expects. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { familyOf } from '../../src/model/address.ts';
import type { Node } from '../../src/model/cluster.ts';
import type { PodNetworkOptions } from '../../src/network/attach/podnetwork.ts';
import type { HostPort } from '../../src/network/hostports/hostport.ts';
import { clusterOf, openPodNetwork, type TestNetwork } from '../support/podnetwork.ts';
import { PodSite } from '../support/podsite.ts';

const NODE: Node = { name: 'n', labels: {}, addresses: [], podCidrs: ['10.83.0.0/24', 'fd83::/64'] };

let site: PodSite;
let opened: TestNetwork;
const warned: string[] = [];

beforeEach(async () => {
  site = await PodSite.build();
  warned.length = 0;
});

afterEach(async () => {
  opened?.close();
  await site.close();
});

async function open(rest: Partial<PodNetworkOptions> = {}): Promise<void> {
  const warn = (_: object, message: string) => void warned.push(message);
  opened = openPodNetwork(site, 'n', () => clusterOf(NODE), { log: { info: () => {}, warn }, ...rest });
  await opened.network.setUp().catch(() => {});
}

const port = (hostPort: number): HostPort => ({ protocol: 'TCP', hostPort, podPort: 80 });

async function attach(name: string, hostPorts: readonly HostPort[] = [], sandbox = name, at = 'eth0') {
  const namespace = await site.add(name);
  return opened.network.attach({ pod: `shop/${name}`, sandbox, interface: at, namespace, hostPorts });
}

/** The agent is gone, and the table is anybody's. */
async function orphaned(): Promise<void> {
  opened.close();
  await expect.poll(() => nft('list', 'table', 'inet', 'sluice-pods')).not.toContain('owner');
}

const nft = (...words: string[]) => site.exec(site.node, 'nft', words);
const ip = (...words: string[]) => site.exec(site.node, 'ip', words);

test('nobody else flushes the table, and the next agent has it as it was', async () => {
  await open();
  await attach('web', [port(80)]);
  nft('flush', 'ruleset');
  expect(nft('list', 'table', 'inet', 'sluice-pods')).toContain('tcp . 80 comment "shop/web"');
  expect(() => nft('delete', 'table', 'inet', 'sluice-pods')).toThrow('Operation not permitted');
  await orphaned();
  await open();
  expect(nft('list', 'table', 'inet', 'sluice-pods')).toContain('flags owner');
  expect((await opened.table.ports()).map(({ comment }) => comment)).toEqual(['shop/web', 'shop/web']);
});

test('without its table no pod is attached, and the node says so; as soon as it can be made they are', async () => {
  nft('add table inet sluice-pods; add chain inet sluice-pods source { type filter hook input priority 0; }');
  await open();
  await expect(attach('web')).rejects.toThrow('no pod is attached without its table: ');
  expect((await opened.network.facts()).refuses).toContain('no pod is attached without its table');
  nft('delete', 'table', 'inet', 'sluice-pods');
  await attach('web');
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
    `mended ${web.device} of shop/web: somebody took its route to ${web.addresses.join(' and ')}`,
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
  for (const set of ['own-host-ports-ip', 'own-host-ports-ip6'])
    nft('flush', 'set', 'inet', 'sluice-pods', set);
  await open();
  await opened.network.detach({ sandbox: 'web', interface: 'eth0' });
  expect(await opened.table.ports()).toEqual([]);
  await attach('db', [port(80)]);
  expect(await opened.table.ports()).toHaveLength(2);
});

test('a sandbox that is detached while it is being attached is gone', async () => {
  await open();
  for (const waitMs of [0, 1, 2, 5, 10]) {
    const name = `pod-${waitMs}`;
    await site.add(name);
    const attaching = attach(name);
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
