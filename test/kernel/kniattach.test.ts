/**
 * The pod network by KNI: a whole agent in a node's namespace, asked by a client that knows the wire table alone, and
 * the answers tried with real packets.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { probe } from '../../bench/lab/probe/probe.ts';
import { parseAddress } from '../../src/model/address.ts';
import { deviceName } from '../../src/network/attach/attachment.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { KniClient, mapOf, message } from '../support/pods/kniclient.ts';
import { PodSite } from '../support/pods/podsite.ts';

const NODE = 'worker';
const [INVALID, EXHAUSTED, PRECONDITION, UNIMPLEMENTED, UNAVAILABLE] = [3, 8, 9, 12, 14];

let site: PodSite;
let folder: string;
let socket: string;
let agent: AgentProcess;
let kni: KniClient;
/** Names of the sandboxes that the test has made. */
const sandboxes: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-kni-'));
  socket = join(folder, 'sluice.sock');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function stop(): Promise<void> {
  kni?.close();
  await agent?.kill();
  await site.close();
}

let manifests: string;

/** Pods of the namespace `shop` by their names; `db` takes what `web` sends it, and nothing from others. */
async function start(cidrs: readonly string[], pods: readonly string[]): Promise<void> {
  manifests = mkdtempSync(join(folder, 'manifests-'));
  writeFileSync(join(manifests, 'node.yaml'), JSON.stringify(nodeOf(cidrs)));
  for (const name of pods) writeFileSync(join(manifests, `pod-${name}.yaml`), JSON.stringify(podOf(name)));
  writeFileSync(join(manifests, 'policy.yaml'), JSON.stringify(DB));
  agent = new AgentProcess(site.node, NODE, [
    '--manifests',
    manifests,
    '--socket',
    socket,
    '--pod-network',
    'attach',
  ]);
  await agent.inForce();
  kni = new KniClient(socket);
  await kni.answered();
}

const nodeOf = (podCIDRs: readonly string[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: NODE },
  spec: { podCIDRs },
});
const podOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: { nodeName: NODE, containers: [] },
});
const DB = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'db', namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app: 'db' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
  },
};
const BOTH = ['10.77.0.0/24', 'fd77::/64'];

/** The path of a new sandbox, or of the one that the test has made by that name. */
function sandbox(name: string): Promise<string> {
  sandboxes.push(name);
  return site.add(name);
}

async function attach(name: string) {
  const path = await sandbox(name);
  const answer = await kni.attach({ name, namespace: 'shop', id: `sandbox-${name}`, path });
  site.settle(name, answer.eth0!.ip);
  return answer.eth0!;
}

const flow = (from: string, to: string) =>
  ({ from: parseAddress(from)!, to: parseAddress(to)!, protocol: 'TCP', port: 5432 }) as const;

describe('an agent that attaches', () => {
  beforeAll(async () => {
    site = await PodSite.build();
    await start(BOTH, ['web', 'db', 'cron']);
  });

  /** Each test finds the node as the first one did. */
  afterEach(async () => {
    await kni.detachAll();
    expect([site.devices(), site.podRoutes()]).toEqual([[], []]);
    for (const name of sandboxes.splice(0)) await site.drop(name);
  });

  afterAll(stop);

  test('K1 K3 K5 K7: gives both families, names both ends, and answers under the rules of the pod', async () => {
    const [db, web, cron] = [await attach('db'), await attach('web'), await attach('cron')];
    expect(db).toMatchObject({
      ip: ['10.77.0.2', 'fd77::2'],
      mac: expect.stringMatching(/^06:/),
      extradata: { families: 'IPv4,IPv6', hostInterface: expect.stringMatching(/^sl[0-9a-f]{13}$/) },
    });
    expect(site.devices()).toContain(db.extradata.hostInterface);
    const outcomes = await probe(site, [
      flow(web.ip[0]!, db.ip[0]!),
      flow(web.ip[1]!, db.ip[1]!),
      flow(cron.ip[0]!, db.ip[0]!),
      flow(cron.ip[1]!, db.ip[1]!),
      flow(db.ip[0]!, cron.ip[0]!),
    ]);
    expect(outcomes).toEqual(['open', 'open', 'closed', 'closed', 'open']);
  });

  test('K1: repeated, it gives the same answer; so does QueryPodNetwork', async () => {
    const first = await attach('web');
    const again = await attach('web');
    expect(again).toEqual(first);
    const { ipconfigs, extradata } = await kni.query('web', 'shop');
    expect(ipconfigs.eth0).toMatchObject({ ip: first.ip, mac: first.mac });
    expect(ipconfigs.eth0!.extradata.hostInterface).toBe(first.extradata.hostInterface);
    expect(extradata.programmed).toBe('true');
    expect(site.devices()).toHaveLength(1);
  });

  test('K1: DetachInterface takes all of it away, and is harmless where nothing is', async () => {
    const { ip } = await attach('web');
    expect(site.podRoutes()).toEqual(ip);
    const pod = { name: 'web', namespace: 'shop', id: 'sandbox-web' };
    await kni.detach(pod);
    await kni.detach(pod);
    expect([site.devices(), site.podRoutes()]).toEqual([[], []]);
  });

  test('K1: DetachInterface takes no sandbox away whose id begins like another', async () => {
    const pods = { web: 'sandbox-1', db: 'sandbox-10' };
    const given: string[][] = [];
    for (const [name, id] of Object.entries(pods)) {
      const { eth0 } = await kni.attach({ name, namespace: 'shop', id, path: await sandbox(name) });
      given.push([...eth0!.ip]);
    }
    await kni.detach({ name: 'db', namespace: 'shop', id: 'sandbox-10' });
    expect(site.podRoutes()).toEqual(given[0]);
  });

  test('K3: a pod that nobody knows waits, is refused, and leaves nothing behind', async () => {
    const path = await sandbox('nobody');
    await expect(kni.attach({ name: 'nobody', namespace: 'shop', id: 'a', path })).rejects.toMatchObject({
      code: UNAVAILABLE,
      details: expect.stringContaining('shop/nobody is not known on this node'),
    });
    expect([site.devices(), site.podRoutes()]).toEqual([[], []]);
  });

  test('K1: a repetition that is refused leaves what was attached before', async () => {
    const more = [
      [
        6,
        message([
          [2, 80],
          [3, 8080],
        ]),
      ],
    ] as const;
    await kni.attach({ name: 'db', namespace: 'shop', id: 'a', path: await sandbox('db'), more });
    const web = { name: 'web', namespace: 'shop', id: 'b', path: await sandbox('web') };
    const { eth0 } = await kni.attach(web);
    await expect(kni.attach({ ...web, more })).rejects.toMatchObject({ code: PRECONDITION });
    expect(site.devices()).toHaveLength(2);
    expect((await kni.query('web', 'shop')).ipconfigs.eth0!.ip).toEqual(eth0!.ip);
  });

  test('K4: what a killed agent left half made goes with its sandbox', async () => {
    const half = deviceName({ sandbox: 'half', interface: 'eth0' });
    site.exec(site.node, 'ip', ['link', 'add', half, 'type', 'bridge']);
    await kni.detach({ name: 'web', namespace: 'shop', id: 'another' });
    expect(site.devices()).toEqual([half]);
    await kni.detach({ name: 'web', namespace: 'shop', id: 'half' });
    expect(site.devices()).toEqual([]);
  });

  test('K3: labels of the runtime do for a pod that the source has not told of yet', async () => {
    const [web, path] = [await attach('web'), await sandbox('late')];
    const more = [[7, { app: 'db' }]] as const;
    const { eth0 } = await kni.attach({ name: 'late', namespace: 'shop', id: 'a', path, more });
    site.settle('late', eth0!.ip);
    const back = flow(eth0!.ip[0]!, web.ip[0]!);
    expect(await probe(site, [flow(web.ip[0]!, eth0!.ip[0]!), back])).toEqual(['open', 'open']);
    expect((await kni.query('late', 'shop')).extradata.policies).toBe('shop/db');
  });

  test.each([
    ['the longest legal names', 'n'.repeat(63), 'p'.repeat(253)],
    ['names that fill the alias to the last byte', 'n'.repeat(63), 'p'.repeat(122)],
  ])('K1: a pod with %s is attached, found again and detached', async (_, namespace, name) => {
    const pod = { namespace, name, id: 'f'.repeat(64) };
    const more = [[7, { app: 'long' }]] as const;
    const { eth0 } = await kni.attach({ ...pod, path: await sandbox('long'), more });
    expect((await kni.query(name, namespace)).ipconfigs.eth0).toMatchObject({ ip: eth0!.ip });
    await kni.detach(pod);
    expect([site.devices(), site.podRoutes()]).toEqual([[], []]);
  });

  test('K1: an interface name that the kernel would take for a pattern is refused, and nothing is made', async () => {
    const more = [[9, { interface: 'eth%d' }]] as const;
    const pod = { name: 'web', namespace: 'shop', id: 'a', path: await sandbox('web'), more };
    await expect(kni.attach(pod)).rejects.toMatchObject({
      code: INVALID,
      details: expect.stringContaining('interface "eth%d" is no name of an interface'),
    });
    expect([site.devices(), site.podRoutes()]).toEqual([[], []]);
  });

  test('K16: an isolation of a kind that cannot be attached is refused by name', async () => {
    const isolation = message([
      [1, '/run/vm/1'],
      [2, 'kata-vm'],
    ]);
    const request = [
      [1, 'web'],
      [2, 'a'],
      [3, 'shop'],
      [4, isolation],
    ] as const;
    await expect(kni.call('AttachInterface', request)).rejects.toMatchObject({
      code: UNIMPLEMENTED,
      details: expect.stringContaining('"kata-vm"'),
    });
  });

  test('a whole conversation by the wire table alone, from SetupNodeNetwork to DeleteNetwork', async () => {
    expect((await kni.call('SetupNodeNetwork', [])).fields.size).toBe(0);
    expect((await kni.call('SetupNodeNetwork', [])).fields.size).toBe(0);
    const prefix = site.path('made');
    const request = [
      [1, 'web'],
      [2, 'uid-1'],
      [3, 'shop'],
      [4, prefix],
    ] as const;
    const path = String((await kni.call('CreateNetwork', request)).fields.get(1)![0]);
    expect(path).toMatch(/\/sluice-[0-9a-f]{24}$/);
    expect(String((await kni.call('CreateNetwork', request)).fields.get(1)![0])).toBe(path);
    const { eth0 } = await kni.attach({ name: 'web', namespace: 'shop', id: 'a', path });
    expect(eth0!.ip).toEqual([expect.stringMatching(/^10\.77\.0\.\d+$/), expect.stringMatching(/^fd77::/)]);
    expect((await kni.query('web', 'shop')).ipconfigs.eth0).toMatchObject({ ip: eth0!.ip, mac: eth0!.mac });
    await kni.detach({ name: 'web', namespace: 'shop', id: 'a' });
    expect(site.devices()).toEqual([]);
    await kni.attach({ name: 'web', namespace: 'shop', id: 'b', path });
    await kni.call('DeleteNetwork', [
      [2, 'web'],
      [3, 'shop'],
      [4, path],
    ]);
    await expect.poll(() => site.devices()).toEqual([]);
    rmSync(prefix, { recursive: true });
  });

  test('K11: to attach and to detach, the agent executes nothing', async () => {
    const before = childrenOf(agent.pid);
    await attach('web');
    await attach('db');
    await kni.detach({ name: 'web', namespace: 'shop', id: 'sandbox-web' });
    expect(childrenOf(agent.pid)).toEqual(before);
    expect(before.running).toEqual([]);
  });

  test('K15: the network has a name and says how it is, and what others add to a request comes back', async () => {
    const { ready, name, extradata } = await kni.node();
    expect([name, extradata.node]).toEqual(['pods', NODE]);
    expect(extradata['check.pod-addresses']).toBe('ok');
    expect(ready, extradata.reason).toBe(true);
    const theirs = { 'example.com/queue': '7', interface: 'net1' };
    const isolation = message([[1, await sandbox('web')]]);
    const { fields } = await kni.call('AttachInterface', [
      [1, 'web'],
      [2, 'a'],
      [3, 'shop'],
      [4, isolation],
      [9, theirs],
      [99, 'a field of a later version'],
    ]);
    expect(mapOf(fields.get(2)!)).toEqual(theirs);
    expect(Object.keys(mapOf(fields.get(1)!))).toEqual(['net1']);
  });
});

describe('agents of their own', () => {
  beforeEach(async () => {
    site = await PodSite.build();
  });

  afterEach(stop);

  test('K2: while the node has no pod CIDR it is refused with the reason', async () => {
    await start([], ['web']);
    const path = await sandbox('web');
    await expect(kni.attach({ name: 'web', namespace: 'shop', id: 'a', path })).rejects.toMatchObject({
      code: UNAVAILABLE,
      details: expect.stringContaining('Node worker has no spec.podCIDRs'),
    });
  });

  test('K4: an agent that was killed finds what it made, and gives nothing out twice', async () => {
    await start(BOTH, ['web', 'db']);
    const web = await attach('web');
    await agent.kill();
    kni.close();
    await start(BOTH, ['web', 'db']);
    const db = await attach('db');
    expect(new Set([...web.ip, ...db.ip]).size).toBe(4);
    expect(await attach('web')).toEqual(web);
  });

  test('K10 K14: without a free address a pod is refused with the reason, the node is not ready, the others stay, and a freed address is given out at once', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'g'];
    await start(['10.77.0.0/29'], names);
    const given = [];
    for (const name of names.slice(0, 5)) given.push(...(await attach(name)).ip);
    expect(new Set(given).size).toBe(5);
    await expect(attach('g')).rejects.toMatchObject({
      code: EXHAUSTED,
      details: expect.stringContaining('all 5 addresses of 10.77.0.0/29 are in use'),
    });
    expect(await probe(site, [flow(given[0]!, given[1]!)])).toEqual(['open']);
    const state = async () => (await kni.node()).extradata['check.pod-addresses'];
    await expect.poll(state, { timeout: 20_000 }).toBe('fail');
    const { ready, extradata } = await kni.node();
    expect([ready, extradata.reason]).toEqual([
      false,
      expect.stringContaining('pod-addresses: all 5 addresses'),
    ]);
    await kni.detach({ name: 'c', namespace: 'shop', id: 'sandbox-c' });
    await expect.poll(state, { timeout: 20_000 }).toBe('ok');
    expect((await attach('g')).ip).toEqual([given[2]]);
  });

  test('K9: pod CIDRs come from the Node object, whose changes are followed', async () => {
    await start([], ['web']);
    await expect(attach('web')).rejects.toMatchObject({ code: UNAVAILABLE });
    writeFileSync(join(manifests, 'node.yaml'), JSON.stringify(nodeOf(['10.77.9.0/24'])));
    const retried = async () => (await attach('web').catch(() => undefined))?.ip;
    await expect.poll(retried, { timeout: 30_000, interval: 200 }).toEqual(['10.77.9.2']);
  });

  test('K12: what becomes of a pod, and why it waits, is in the log of the agent', async () => {
    await start(['10.77.0.0/30'], ['a', 'b', 'c']);
    const { extradata } = await attach('a');
    await attach('b');
    await expect(attach('c')).rejects.toMatchObject({ code: EXHAUSTED });
    await kni.detach({ name: 'a', namespace: 'shop', id: 'sandbox-a' });
    const said = [
      `attached shop/a to ${extradata.hostInterface}`,
      'shop/c is not attached: no address for shop/c: all 2 addresses of 10.77.0.0/30 are in use',
      `detached shop/a from ${extradata.hostInterface}`,
    ];
    for (const line of said) await expect.poll(() => agent.output).toContain(line);
  });
});

/** The processes that it has, and the page faults of those that have ended: a process that ran had some. */
function childrenOf(pid: number) {
  const running = readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return { running, faults: fields[8] };
}
