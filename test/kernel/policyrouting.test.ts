/** Routes that lead nowhere, or stand in a table of their own: what is asked beside them is answered all the same. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { address } from '../../bench/lab/topology.ts';
import { readOwnInterfaces } from '../../src/daemon/pods/interfacewatcher.ts';
import { listPodLinks } from '../../src/daemon/pods/podroutes.ts';
import { RtnetlinkSocket } from '../../src/kernel/netlink/route/rtnetlink-socket.ts';
import type { Address } from '../../src/model/address.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';

const [ENDED, LIVING, APART] = [address('10.7.0.1'), address('10.7.0.2'), address('fd07::3')];
const NODE = 'n1';

let lab: Lab;
beforeAll(async () => {
  const nodes = [{ name: NODE, addresses: [address('172.18.0.11')] }];
  lab = await buildLab({ nodes, pods: [], outside: [] }, { prefix: `noway${process.pid}` });
  ip('link', 'add', 'pods0', 'type', 'bridge');
  ip('link', 'set', 'pods0', 'up');
  ip('route', 'add', LIVING, 'dev', 'pods0');
}, 60_000);
afterAll(() => lab?.remove());

function ip(...args: string[]): string {
  return inNamespace(lab.nodeNamespace(NODE), () => execFileSync('ip', args, { encoding: 'utf8' }));
}

const pod = (name: string, at: typeof ENDED) =>
  [
    `shop/${name}`,
    { key: `shop/${name}`, node: NODE, hostNetwork: false, finished: false, addresses: [at] },
  ] as const;

test.each(['blackhole', 'unreachable', 'prohibit'])(
  'a pod with a %s route, and one for everybody, take no bridge of others away',
  async kind => {
    ip('route', 'replace', kind, ENDED);
    ip('route', 'replace', kind, '192.0.2.0/24');
    expect((await links(pod('ended', ENDED), pod('living', LIVING))).podBridges).toEqual([indexOf('pods0')]);
  },
  60_000,
);

test('a bridge is one of pods, and an interface a way out, where a rule of routing has another table lead there', async () => {
  ip('-6', 'route', 'add', `${APART}/128`, 'dev', 'pods0', 'table', '77');
  ip('-6', 'rule', 'add', 'to', APART, 'table', '77');
  ip('link', 'add', 'out0', 'type', 'veth', 'peer', 'name', 'out1');
  ip('link', 'set', 'out1', 'up');
  ip('link', 'set', 'out0', 'up');
  ip('-6', 'route', 'add', 'default', 'dev', 'out0', 'table', '78');
  ip('-6', 'rule', 'add', 'to', '2001:db8::/32', 'table', '78');
  expect(await links(pod('apart', APART))).toMatchObject({
    podBridges: [indexOf('pods0')],
    uplinks: expect.arrayContaining([indexOf('out0')]),
  });
});

test('listPodLinks() says by which interfaces pods are reached, and leaves out who has no way', async () => {
  ip('link', 'add', 'parent0', 'type', 'veth', 'peer', 'name', 'parent1');
  ip('link', 'add', 'shim0', 'link', 'parent0', 'type', 'macvlan');
  for (const device of ['parent1', 'parent0', 'shim0']) ip('link', 'set', device, 'up');
  ip('route', 'add', '10.7.1.1', 'dev', 'shim0');
  ip('route', 'add', '10.7.1.2', 'dev', 'parent0');
  ip('route', 'add', 'blackhole', '10.7.1.3');
  ip('link', 'add', 'port0', 'mtu', '1400', 'master', 'pods0', 'type', 'veth', 'peer', 'name', 'port1');
  ip('link', 'add', 'flannel.1', 'mtu', '1450', 'type', 'vxlan', 'id', '1', 'dstport', '8472', 'dev', 'out0');
  const [near, out, none] = ['10.7.1.1', '10.7.1.2', '10.7.1.3'].map(address) as [Address, Address, Address];
  const uplinks = [indexOf('parent0')];
  const { podRoutes, flannelTunnels } = await withSocket(socket =>
    listPodLinks(socket, [none, LIVING, near, out], uplinks),
  );
  expect(podRoutes).toEqual([
    { device: 'pods0', kind: 'bridge', isUplink: false, addresses: [LIVING], mtu: 1400 },
    { device: 'parent0', kind: 'veth', isUplink: true, addresses: [out], mtu: 1500 },
    { device: 'shim0', kind: 'macvlan', isUplink: false, addresses: [near], mtu: 1500 },
  ]);
  expect(flannelTunnels).toEqual([{ name: 'flannel.1', mtu: 1450 }]);
});

test('the interface of Flannel’s back end udp is a tunnel of the node, by the port of flanneld', async () => {
  ip('tuntap', 'add', 'mode', 'tun', 'name', 'flannel0');
  ip('tuntap', 'add', 'mode', 'tun', 'name', 'vpn0');
  expect((await links()).tunnels).toBeUndefined(); // nothing is taken in while it is down
  for (const device of ['flannel0', 'vpn0']) ip('link', 'set', device, 'up');
  expect((await links()).tunnels).toEqual({ ports: [8285], protocols: [] });
});

async function links(...known: readonly ReturnType<typeof pod>[]) {
  const pods = new Map(known) as unknown as ReadonlyMap<never, Pod>;
  const cluster = { namespaces: new Map(), nodes: new Map(), policies: new Map(), pods } as Cluster;
  return withSocket(async socket => (await readOwnInterfaces(socket, cluster, NODE)).links);
}

async function withSocket<T>(work: (socket: RtnetlinkSocket) => Promise<T>): Promise<T> {
  const socket = inNamespace(lab.nodeNamespace(NODE), () => new RtnetlinkSocket());
  try {
    return await work(socket);
  } finally {
    socket.close();
  }
}

function indexOf(device: string): number {
  return Number(/^(\d+):/.exec(ip('link', 'show', device))![1]);
}
