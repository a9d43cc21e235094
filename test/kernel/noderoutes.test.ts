/** Two nodes on one link, and a third behind a router: the pods of the two reach each other, by routes of Sluice. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { nodeRoutes } from '../../src/api/health/agentchecks.ts';
import type { Ours } from '../../src/kernel/host/facts.ts';
import { type Route, writeNewRoute } from '../../src/kernel/netlink/route/rtnetlink.ts';
import { RtnetlinkSocket } from '../../src/kernel/netlink/route/rtnetlink-socket.ts';
import type { AttributeWriter } from '../../src/kernel/netlink/wire/attributes.ts';
import { parseAddress, parseCidr } from '../../src/model/address.ts';
import type { Cluster, Node } from '../../src/model/cluster.ts';
import { clusterOf, openPodNetwork, type TestNetwork } from '../support/pods/podnetwork.ts';
import { PodSite } from '../support/pods/podsite.ts';

interface Host extends TestNetwork {
  readonly site: PodSite;
}

const node = (name: string, number: number, addresses: string[]): Node => ({
  name,
  labels: {},
  addresses: addresses.map(text => parseAddress(text)!),
  podCidrs: [`10.9${number}.0.0/24`, `fd9${number}::/64`],
});
const ONE = node('one', 1, ['10.90.0.1', 'fd90::1']);
const TWO = node('two', 2, ['10.90.0.2', 'fd90::2']);
/** Its addresses are behind a router. */
const FAR = node('far', 3, ['10.90.1.1', 'fd90:1::1']);

let hosts: Host[] = [];
let cluster: Cluster;
const setNodes = (...nodes: Node[]) => {
  cluster = clusterOf(...nodes);
};

beforeAll(async () => {
  setNodes(ONE, TWO);
  const sites = [await PodSite.build(), await PodSite.build()] as const;
  const [one, two] = sites;
  one.exec(one.node, 'ip', ['link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'up0', 'netns', two.node]);
  for (const [index, site] of sites.entries()) {
    const ip = (...args: string[]) => site.exec(site.node, 'ip', args);
    ip('link', 'set', 'up0', 'up');
    ip('address', 'add', `10.90.0.${index + 1}/24`, 'dev', 'up0');
    ip('address', 'add', `fd90::${index + 1}/120`, 'dev', 'up0', 'nodad');
    ip('route', 'add', 'default', 'via', '10.90.0.254');
    hosts.push({ site, ...(await openPodNetwork(site, index === 0 ? 'one' : 'two', () => cluster)) });
  }
  for (const { network } of hosts) await network.start();
});

afterAll(async () => {
  for (const { site, close } of hosts) {
    await close();
    await site.close();
  }
  hosts = [];
});

const networks = ({ site }: Host) => site.routes().filter(destination => destination.includes('/'));

async function attach({ site, network }: Host, name: string) {
  const namespace = await site.add(name);
  const { addresses } = await network.attach({
    pod: `shop/${name}`,
    sandbox: `box-${name}`,
    interface: 'eth0',
    namespace,
    hostPorts: [],
  });
  site.settle(name, addresses);
  return addresses;
}

test('routes to the pods of another node come and go with its Node object, in both families', async () => {
  const [one, two] = hosts as [Host, Host];
  const all = ['10.91.0.0/24', '10.92.0.0/24', 'fd91::/64', 'fd92::/64'];
  expect([networks(one).sort(), networks(two).sort()]).toEqual([all, all]);
  const [a, b] = [await attach(one, 'a'), await attach(two, 'b')];
  const homes = {
    namespaceOf: (address: (typeof a)[number]) => (a.includes(address) ? one : two).site.namespaceOf(address),
  };
  const flows = [0, 1].flatMap(family => [
    { from: a[family]!, to: b[family]!, protocol: 'TCP', port: 80 } as const,
    { from: b[family]!, to: a[family]!, protocol: 'TCP', port: 80 } as const,
  ]);
  await expect.poll(() => probe(homes, flows), { timeout: 20_000 }).toEqual(flows.map(() => 'open'));

  setNodes(ONE);
  one.network.nodesChanged();
  await expect.poll(() => networks(one).sort(), { timeout: 10_000 }).toEqual(['10.91.0.0/24', 'fd91::/64']);
  expect(await probe(homes, flows)).toEqual(flows.map(() => 'closed'));

  setNodes(ONE, TWO);
  one.network.nodesChanged();
  await expect.poll(() => networks(one).sort(), { timeout: 10_000 }).toEqual(all);
  await expect.poll(() => probe(homes, flows), { timeout: 20_000 }).toEqual(flows.map(() => 'open'));
});

test('a route that somebody takes, or that goes with its link, comes back although no Node changed', async () => {
  const [one] = hosts as [Host];
  setNodes(ONE, TWO);
  const all = ['10.91.0.0/24', '10.92.0.0/24', 'fd91::/64', 'fd92::/64'];
  const ip = (...args: string[]) => one.site.exec(one.site.node, 'ip', args);
  const losses = [
    () => ip('route', 'del', '10.92.0.0/24'),
    () => ip('-6', 'route', 'del', 'fd92::/64'),
    () => ['down', 'up'].map(state => ip('link', 'set', 'up0', state)),
  ];
  for (const lose of losses) {
    await one.network.setUp();
    await one.network.setUp();
    expect(networks(one).sort()).toEqual(all);
    lose();
    expect(networks(one).sort()).not.toEqual(all);
    ip('address', 'replace', 'fd90::1/120', 'dev', 'up0', 'nodad');
    await one.network.setUp();
    expect(networks(one).sort()).toEqual(all);
  }
});

test('to a node behind a router there is no route, and the health check says so and what to use instead', async () => {
  const [one] = hosts as [Host];
  setNodes(ONE, TWO, FAR);
  await one.network.setUp();
  expect(networks(one)).not.toContain('10.93.0.0/24');
  const { unreachable } = await one.network.facts();
  expect(unreachable).toEqual(['10.93.0.0/24 of node far', 'fd93::/64 of node far']);
  expect(nodeRoutes({ attached: { unreachable } } as Ours)).toMatchObject({
    name: 'node-routes',
    state: 'warn',
    reason: 'no link leads to 10.93.0.0/24 of node far, fd93::/64 of node far',
    remedy: expect.stringContaining('Flannel'),
  });
});

test('of tens of thousands of routes each is made, and the one that is refused is named', async () => {
  const { site } = hosts[0]!;
  const socket = inNamespace(site.node, () => new RtnetlinkSocket());
  const routes = Array.from(
    { length: 30_000 },
    (_, i): Route => ({
      destination: parseCidr(`10.${128 + (i >> 9)}.${(i >> 1) & 255}.${(i & 1) * 128}/25`)!,
      type: 'unreachable',
      protocol: 116,
      // Of no interface: refused.
      ...(i === 29_000 && { type: 'unicast', device: 9999 }),
    }),
  );
  const steps = routes.map(route => ({
    what: `make ${route.destination.base}`,
    write: (to: AttributeWriter, sequence: number) => writeNewRoute(to, sequence, route, 'refuse'),
  }));
  await expect(socket.change(steps)).rejects.toMatchObject({ code: 'ENODEV', index: 29_000 });
  const made = site.exec(site.node, 'ip', ['-4', 'route', 'show', 'proto', '116']).trim().split('\n');
  expect(made).toHaveLength(29_999);
  site.exec(site.node, 'ip', ['-4', 'route', 'flush', 'proto', '116']);
  socket.close();
});
