/** K4: what no living pod owns is taken away: interfaces, addresses, routes, host ports, rules; one log line each. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Node, PodKey } from '../../src/model/cluster.ts';
import { GRACE_MS } from '../../src/network/attach/collector.ts';
import { clusterOf, openPodNetwork, type TestNetwork } from '../support/pods/podnetwork.ts';
import { hostPortsOf } from '../support/pods/podrules.ts';
import { PodSite } from '../support/pods/podsite.ts';

const NODE: Node = { name: 'worker', labels: {}, addresses: [], podCidrs: ['10.82.0.0/24', 'fd82::/64'] };
const CLUSTER = clusterOf(NODE);

let site: PodSite;
let opened: TestNetwork;
let nowMs = 0;
let living: Set<PodKey> | undefined;
const withdrawn: string[] = [];
const said: string[] = [];

beforeAll(async () => {
  site = await PodSite.build();
  opened = await openPodNetwork(site, 'worker', () => CLUSTER, {
    admission: { admit: async () => {}, adopt: () => {}, withdraw: id => void withdrawn.push(id) },
    livingPods: () => living,
    log: {
      info: (_, message) => void (message.startsWith('attached') || said.push(message)),
      warn: () => {},
    },
    now: () => nowMs,
  });
  await opened.network.setUp();
});

afterAll(async () => {
  await opened.close();
  await site.close();
});

async function attach(name: string, hostPort: number): Promise<string> {
  const { device } = await opened.network.attach({
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
  await opened.network.collect();
  expect(withdrawn).toEqual([vanishes]);
  expect(said.splice(0).sort()).toEqual([
    'collected host port 82/TCP of shop/vanishes: no pod has its address',
    'collected host port 82/TCP of shop/vanishes: no pod has its address',
    `collected the rules of ${vanishes}: its namespace is gone, and it too`,
  ]);

  living = new Set<PodKey>(['shop/stays']);
  await opened.network.collect();
  expect(said, 'before its time').toEqual([]);
  nowMs += GRACE_MS;
  await opened.network.collect();
  expect(new Set(said)).toEqual(
    new Set([
      `collected ${dies} of shop/dies: no such pod runs on this node`,
      `collected ${half}: it was left half made`,
    ]),
  );
  expect(said).toHaveLength(2);
  expect(new Set(withdrawn)).toEqual(new Set([vanishes, dies, half]));
  expect(site.devices().sort()).toEqual([stays, 'somebodys'].sort());
  expect(site.podRoutes()).toEqual(['10.82.0.2', 'fd82::2']);
  await opened.rules.programmed();
  expect((await hostPortsOf(site)).map(({ owner }) => owner)).toEqual(['shop/stays', 'shop/stays']);
});
