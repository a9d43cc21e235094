/**
 * K14: a node of a /29. The book is the kernel, the word is the condition of the Node on a server, of which the
 * controller manager makes a taint that keeps new pods away; pods that run are left alone.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probe } from '../../bench/lab/probe/probe.ts';
import { ApiServer } from '../../src/inputs/kube/client/apiserver.ts';
import { ConditionWriter } from '../../src/inputs/kube/report/conditionwriter.ts';
import { realTiming } from '../../src/lib/async/timing.ts';
import { parseAddress } from '../../src/model/address.ts';
import type { Node } from '../../src/model/cluster.ts';
import { FakeApiServer } from '../support/api/server.ts';
import { clusterOf, openPodNetwork, type TestNetwork } from '../support/pods/podnetwork.ts';
import { PodSite } from '../support/pods/podsite.ts';

const CIDRS = ['10.81.0.0/29', 'fd81::/64'];
const NODE: Node = { name: 'worker', labels: {}, addresses: [], podCidrs: CIDRS };
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

let site: PodSite;
let opened: TestNetwork;
let server: FakeApiServer;
let api: ApiServer;
const stop = new AbortController();
let writing: Promise<void>;

beforeAll(async () => {
  server = new FakeApiServer();
  await server.start();
  server.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker' } });
  api = new ApiServer(server.access);
  const writer = new ConditionWriter({ api, node: 'worker', timing: realTiming, onTrouble: () => {} });
  writing = writer.run(stop.signal);
  site = await PodSite.build();
  for (const name of NAMES) await site.add(name);
  const cluster = clusterOf(NODE);
  opened = await openPodNetwork(site, 'worker', () => cluster, {
    onNetworkUnavailable: found => writer.set(found && { reason: found.code, message: found.message }),
  });
  await opened.network.start();
});

afterAll(async () => {
  await opened.close();
  stop.abort();
  await writing;
  await api.close();
  await server.stop();
  await site.close();
});

// biome-ignore lint/suspicious/noExplicitAny: a Node, as the server has it
const condition = () => (server.objects[0] as any).status?.conditions[0];
const status = () => condition()?.status;

async function attach(name: string): Promise<readonly string[]> {
  const request = { sandbox: `box-${name}`, interface: 'eth0', hostPorts: [] } as const;
  const { addresses } = await opened.network.attach({
    ...request,
    pod: `shop/${name}`,
    namespace: site.path(name),
  });
  site.settle(name, addresses);
  return addresses;
}

test('K14: the Node says so while no address of one family is free, and no longer as soon as one is', async () => {
  await expect.poll(status, { timeout: 10_000 }).toBe('False');
  const given: (readonly string[])[] = [];
  for (const name of NAMES.slice(0, 4)) given.push(await attach(name));
  expect(status(), 'with one address left').toBe('False');
  given.push(await attach('e'));
  await expect.poll(status, { timeout: 10_000 }).toBe('True');
  expect(condition()).toMatchObject({
    type: 'NetworkUnavailable',
    reason: 'exhausted',
    message: 'all 5 addresses of 10.81.0.0/29 are in use',
  });
  await expect(attach('g')).rejects.toMatchObject({ code: 'exhausted' });
  expect(site.devices(), 'nothing is left of what was refused').toHaveLength(5);

  const [from, to] = [given[0]!, given[4]!].map(addresses => addresses.map(text => parseAddress(text)!));
  const flows = [0, 1].map(at => ({ from: from![at]!, to: to![at]!, protocol: 'UDP', port: 53 }) as const);
  expect(await probe(site, flows), 'pods that run').toEqual(['open', 'open']);

  await opened.network.detach({ sandbox: 'box-c', interface: 'eth0' });
  await expect.poll(status, { timeout: 10_000 }).toBe('False');
  expect((await attach('g'))[0]).toBe(given[2]![0]);
  await expect.poll(status, { timeout: 10_000 }).toBe('True');
});
