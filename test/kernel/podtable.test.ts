/** The rules of attached pods: who may send as whom, and ports of the node, with real packets. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  type Fd,
  POLLIN,
  poll,
  receive,
  SOCK_DGRAM,
  send,
  socket,
} from '../../bench/lab/libc.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { socketAddress } from '../../bench/lab/probe/sockaddr.ts';
import { type Address, cidrText, familyOf, parseAddress, parseCidr } from '../../src/model/address.ts';
import type { Node } from '../../src/model/cluster.ts';
import { Attacher } from '../../src/network/attach/attacher.ts';
import { NodeInterfaces } from '../../src/network/attach/nodeinterfaces.ts';
import { type HostPort, HostPorts } from '../../src/network/hostports/hostports.ts';
import { hostPortsOf, PodRules } from '../support/pods/podrules.ts';
import { PodSite } from '../support/pods/podsite.ts';

const at = (text: string): Address => parseAddress(text)!;
const PLAN = {
  podCidrs: ['10.79.0.0/24', 'fd79::/64'].map(text => parseCidr(text)!),
  sources: [],
  mtu: 1500,
};
const NODE: Node = { name: 'n', labels: {}, addresses: [], podCidrs: PLAN.podCidrs.map(cidrText) };
const NODE_ADDRESSES = ['10.70.0.1', 'fd70::1'].map(at);
const OUTSIDE = ['192.0.2.9', '2001:db8::9'].map(at);

let site: PodSite;
let links: NodeInterfaces;
let attacher: Attacher;
let rules: PodRules;
let ports: HostPorts;

beforeEach(async () => {
  site = await PodSite.build();
  for (const address of NODE_ADDRESSES) site.exec(site.node, 'ip', ['address', 'add', address, 'dev', 'lo']);
  site.settle('node', NODE_ADDRESSES);
  links = inNamespace(site.node, () => new NodeInterfaces());
  rules = await PodRules.open(site, 'n', [NODE]);
  attacher = new Attacher(links, site.helper);
  ports = new HostPorts(
    rules,
    () => links.given(),
    async () => {},
  );
});

afterEach(async () => {
  links.close();
  await rules.close();
  await site.close();
});

async function attach(name: string): Promise<readonly Address[]> {
  const namespace = await site.add(name);
  const request = { pod: `shop/${name}`, sandbox: name, interface: 'eth0', namespace } as const;
  const { addresses } = await attacher.wire(request, PLAN);
  site.settle(name, addresses);
  return addresses;
}

const open = async (name: string, hostPort: HostPort, addresses: readonly Address[]) => {
  await ports.claim(`shop/${name}`, [hostPort], addresses);
  await ports.settle();
};

const list = (family = 'ip') => site.exec(site.node, 'nft', ['list', 'table', family, 'sluice']);
const removeRules = () => {
  for (const family of ['ip', 'ip6']) site.exec(site.node, 'nft', ['delete', 'table', family, 'sluice']);
};

test('the networks of 15,000 nodes are one set, replaced as a whole before any rule names it', async () => {
  const nodes = Array.from({ length: 15_000 }, (_, i): Node => {
    const podCidrs = [`10.${i >> 7}.${2 * (i & 127)}.0/24`, `fd00:${(2 * i).toString(16)}::/64`];
    return { name: `n${i}`, labels: {}, addresses: [], podCidrs };
  });
  rules.note(nodes.map(value => ({ type: 'node', key: value.name, value })));
  await rules.programmed();
  expect(list().match(/set pod-networks-/g)).toHaveLength(1);
  expect(list()).toMatch(/ip daddr @pod-networks-\w+ return/);
  expect(list().match(/10\.\d+\.\d+\.0\/24/g)!.length).toBeGreaterThan(15_000);
  const commits = rules.committed.length;
  rules.note(nodes.slice(0, 5000).map(value => ({ type: 'node', key: value.name, value: { ...value } })));
  await rules.programmed();
  expect(rules.committed, 'nodes that say what they said before').toHaveLength(commits);
});

test('nft lists what pods need in its own words', () => {
  const text = [list('ip'), list('ip6')].join('\n');
  expect(text).toContain(
    'iifgroup 29548 fib saddr . iif oif missing goto denied-link comment "not from an address of its own"',
  );
  expect(text).toMatch(/fib daddr type local dnat ip to ip protocol \. th dport map @host-ports\b/);
  expect(text).toMatch(/fib daddr type local dnat ip6 to meta l4proto \. th dport map @host-ports\b/);
  expect(text).toContain('iifgroup 29548 icmpv6 type nd-router-advert goto denied-link');
  expect(text).toContain('ip saddr 10.79.0.0/24 masquerade');
  expect(text).toContain('ip6 saddr fd79::/64 masquerade');
  expect(text).toMatch(/ip daddr @pod-networks-\w+ return/);
});

test('what somebody takes away comes back, host ports too', async () => {
  await open('a', { protocol: 'TCP', hostPort: 80, podPort: 8080 }, await attach('a'));
  const before = list();
  expect(before).toContain('tcp . 80 comment "shop/a" : 10.79.0.2 . 8080');
  await rules.close();
  site.exec(site.node, 'nft', ['flush', 'chain', 'ip', 'sluice', 'leaving']);
  rules = await PodRules.open(site, 'n', [NODE]);
  expect(list()).toBe(before);
});

test('an agent with attached pods commits nothing where nothing changed', async () => {
  await open('a', { protocol: 'TCP', hostPort: 80, podPort: 8080 }, await attach('a'));
  const commits = rules.committed.length;
  rules.resync();
  await open(
    'a',
    { protocol: 'TCP', hostPort: 80, podPort: 8080 },
    (await rules.mappings()).map(({ pod }) => pod),
  );
  await ports.collect();
  rules.note([{ type: 'node', key: 'n', value: { ...NODE, labels: { some: 'label' } } }]);
  await rules.programmed();
  expect([rules.committed.length - commits, rules.drifts]).toEqual([0, []]);
});

// Another pod's, one from outside, and one that the node has for its pods and gave to nobody.
test.each([
  ['IPv4', 0, ['192.0.2.77', '10.79.0.200']],
  ['IPv6', 1, ['2001:db8::77', 'fd79::200']],
] as const)(
  'a pod that sends from an %s address that is not its own is not heard, but without the rules it is',
  async (_, family, nobodys) => {
    const [a, b, c] = [await attach('a'), await attach('b'), await attach('c')].map(own => own[family]!);
    const forged = [c!, ...nobodys.map(at)];
    for (const address of forged)
      site.exec(site.path('a'), 'ip', [
        'address',
        'add',
        address,
        'dev',
        'eth0',
        ...['nodad'].slice(1 - family),
      ]);
    const ear = inNamespace(site.path('b'), () => listener(b!));
    try {
      const heard = async (from: Address) => {
        say(site.path('a'), from, b!);
        return hears(ear);
      };
      expect(await heard(a!)).toBe(true);
      for (const address of forged) expect(await heard(address), address).toBe(false);
      await rules.close();
      removeRules();
      for (const address of forged) expect(await heard(address), `${address} without the rules`).toBe(true);
    } finally {
      close(ear);
    }
  },
);

test('a port of the node leads to the pod, from other pods, from itself and from the node, in both families', async () => {
  const [server, client] = [await attach('server'), await attach('client')];
  const hostPort = { protocol: 'TCP', hostPort: 80, podPort: 8080 } as const;
  await open('server', hostPort, server);
  await open('server', hostPort, server);
  const probes = [client, server, NODE_ADDRESSES].flatMap(from =>
    server.map((to, family) => ({
      from: from[family]!,
      to,
      protocol: 'TCP' as const,
      port: 8080,
      via: { address: NODE_ADDRESSES[family]!, port: 80 },
    })),
  );
  expect(await probe(site, probes)).toEqual(probes.map(() => 'open'));
  await ports.release(server);
  await rules.programmed();
  await expect(probe(site, probes.slice(0, 2))).rejects.toThrow('ECONNREFUSED'); // by the node: nobody is there
  expect(list()).not.toContain('8080');
});

test('a port that leads to a pod is not given to another, until the pod is gone', async () => {
  const [a, b] = [await attach('a'), await attach('b')];
  const hostPort = { protocol: 'UDP', hostPort: 53, podPort: 53 } as const;
  await open('a', hostPort, a);
  await expect(open('b', hostPort, b)).rejects.toThrow('host port 53/UDP leads to port 53 of shop/a already');
  await links.remove((await links.attachments()).find(({ owner }) => owner!.pod === 'shop/a')!.index);
  await open('b', hostPort, b);
  expect((await hostPortsOf(site)).map(({ pod }) => pod)).toEqual(b);
  expect(
    await new HostPorts(
      rules,
      async () => new Set(),
      async () => {},
    ).collect(),
  ).toHaveLength(2);
  await rules.programmed();
  expect(await hostPortsOf(site)).toEqual([]);
});

test('of two pods that want one port at the same time one gets it, and the other hears who has it', async () => {
  const [a, b] = [await attach('a'), await attach('b')];
  const hostPort = { protocol: 'TCP', hostPort: 80, podPort: 80 } as const;
  const both = await Promise.allSettled([open('a', hostPort, a), open('b', hostPort, b)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect((both[1] as PromiseRejectedResult).reason).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('leads to port 80 of shop/a already'),
  });
});

test('a pod that is attached meanwhile loses no port to one that looks for dead ones', async () => {
  const early = await attach('early');
  const pods = ['b', 'c', 'd', 'e'];
  const port = (at: number): HostPort => ({ protocol: 'TCP', hostPort: 80 + at, podPort: 80 });
  const opening = open('early', port(9), early);
  await Promise.all(pods.map(async (name, index) => open(name, port(index), await attach(name))));
  await opening;
  expect((await hostPortsOf(site)).map(({ hostPort }) => hostPort).sort()).toEqual(
    [80, 81, 82, 83, 89].flatMap(hostPort => [hostPort, hostPort]),
  );
});

test('a pod is outside by the node’s address, and among pods by its own', async () => {
  const [client, server] = [await attach('client'), await attach('server')];
  await site.add('outside');
  const peer = ['link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', site.path('outside')];
  site.exec(site.node, 'ip', peer);
  for (const [namespace, device, address, other] of [
    [site.node, 'up0', NODE_ADDRESSES, OUTSIDE],
    [site.path('outside'), 'eth0', OUTSIDE, NODE_ADDRESSES],
  ] as const) {
    site.exec(namespace, 'ip', ['link', 'set', device, 'up']);
    for (const [family, own] of address.entries()) {
      const bits = family === 0 ? '32' : '128';
      const nodad = family === 0 ? [] : ['nodad'];
      site.exec(namespace, 'ip', ['address', 'add', `${own}/${bits}`, 'dev', device, ...nodad]);
      site.exec(namespace, 'ip', ['route', 'add', other[family]!, 'dev', device]);
    }
  }
  site.settle('outside', OUTSIDE);
  // The outside has no route to pods: an answer comes back only to the node's own address.
  const out = client.map(
    (from, family) => ({ from, to: OUTSIDE[family]!, protocol: 'TCP', port: 9 }) as const,
  );
  await expect.poll(() => probe(site, out)).toEqual(['open', 'open']);
  const ear = inNamespace(site.path('server'), () => listener(server[0]!));
  say(site.path('client'), client[0]!, server[0]!);
  expect(await hears(ear, client[0])).toBe(true);
  close(ear);
});

const PORT = 4000;

const domainOf = (address: Address) => (familyOf(address) === 'ip' ? AF_INET : AF_INET6);

function listener(address: Address): Fd {
  const fd = socket(domainOf(address), SOCK_DGRAM);
  bind(fd, socketAddress(address, PORT));
  return fd;
}

function say(namespace: string, from: Address, to: Address): void {
  const fd = inNamespace(namespace, () => socket(domainOf(from), SOCK_DGRAM));
  try {
    bind(fd, socketAddress(from, 0));
    send(fd, Buffer.from('hello'), socketAddress(to, PORT));
  } finally {
    close(fd);
  }
}

/** Whether something came, and from whom it should. */
async function hears(fd: Fd, from?: Address): Promise<boolean> {
  const pollfd = Buffer.alloc(8);
  pollfd.writeInt32LE(fd, 0);
  pollfd.writeInt16LE(POLLIN, 4);
  if ((await poll(pollfd, 300)) === 0) return false;
  const heard = receive(fd)!;
  return from === undefined || Buffer.from(heard.from).subarray(4, 8).join('.') === from;
}
