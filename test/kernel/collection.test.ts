/** K4: what no living pod owns is taken away: interfaces, addresses, routes, host ports, rules; one log line each. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../src/lab/netns.ts';
import type { Cluster, Node, PodKey } from '../../src/model/cluster.ts';
import { GRACE_MS } from '../../src/network/garbage.ts';
import { HostPorts } from '../../src/network/hostports.ts';
import { NodeLinks } from '../../src/network/nodelinks.ts';
import { PodNetwork } from '../../src/network/podnetwork.ts';
import { PodTableSocket } from '../../src/network/podtablesocket.ts';
import { PodSite } from '../support/podsite.ts';

const NODE: Node = { name: 'worker', labels: {}, addresses: [], podCidrs: ['10.82.0.0/24', 'fd82::/64'] };
const CLUSTER: Cluster = {
  nodes: new Map([['worker', NODE]]),
  pods: new Map(),
  namespaces: new Map(),
  policies: new Map(),
};

let site: PodSite;
let links: NodeLinks;
let table: PodTableSocket;
let network: PodNetwork;
let nowMs = 0;
let living: Set<PodKey> | undefined;
const withdrawn: string[] = [];
const said: string[] = [];

beforeAll(async () => {
  site = await PodSite.build();
  [links, table] = inNamespace(site.node, () => [new NodeLinks(), new PodTableSocket()] as const);
  network = new PodNetwork({
    node: 'worker',
    links,
    helper: site.helper,
    ports: new HostPorts(table, () => links.given()),
    admission: { admit: async () => {}, adopt: () => {}, withdraw: id => void withdrawn.push(id) },
    cluster: () => CLUSTER,
    livingPods: () => living,
    log: {
      info: (_, message) => void (message.startsWith('attached') || said.push(message)),
      warn: () => {},
    },
    now: () => nowMs,
  });
  await network.setUp();
});

afterAll(async () => {
  network.close();
  links.close();
  table.close();
  await site.close();
});

async function attach(name: string, hostPort: number): Promise<string> {
  const { device } = await network.attach({
    pod: `shop/${name}`,
    sandbox: `box-${name}`,
    interface: 'eth0',
    namespace: await site.add(name),
    hostPorts: [{ protocol: 'TCP', hostPort, podPort: 80 }],
  });
  return device;
}

test('a pod that is gone, what is half made, and rules of an interface that is gone, and nothing else', async () => {
  const [stays, dies, vanishes] = [
    await attach('stays', 80),
    await attach('dies', 81),
    await attach('vanishes', 82),
  ];
  const half = 'sl0123456789abc';
  for (const name of [half, 'somebodys']) site.exec(site.node, 'ip', ['link', 'add', name, 'type', 'bridge']);

  await site.drop('vanishes');
  await expect.poll(() => site.devices()).not.toContain(vanishes);
  living = undefined; // the API server cannot be read: nobody knows who is gone
  await network.collect();
  expect(withdrawn).toEqual([vanishes]);
  expect(said.splice(0).sort()).toEqual([
    'collected host port 82/TCP of shop/vanishes: nobody has its address',
    'collected host port 82/TCP of shop/vanishes: nobody has its address',
    `collected the rules of ${vanishes}: its namespace is gone, and it too`,
  ]);

  living = new Set<PodKey>(['shop/stays']);
  await network.collect();
  expect(said, 'before its time').toEqual([]);
  nowMs += GRACE_MS;
  await network.collect();
  expect(new Set(said)).toEqual(
    new Set([
      `collected ${dies} of shop/dies: no such pod runs on this node`,
      `collected ${half}: it was left half made`,
    ]),
  );
  expect(said).toHaveLength(2);
  expect(new Set(withdrawn)).toEqual(new Set([vanishes, dies, half]));
  expect(site.devices().sort()).toEqual([stays, 'somebodys'].sort());
  expect(site.podRoutes()).toEqual(['10.82.0.1', 'fd82::1']);
  expect((await table.ports()).map(({ comment }) => comment)).toEqual(['shop/stays', 'shop/stays']);
});
