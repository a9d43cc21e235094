/** What `sluice diff @agent` says would be cut of what is open now is what the agent then cuts, and nothing else. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { installServices } from '../../bench/lab/services.ts';
import { address, topologyOf } from '../../bench/lab/topology.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { clientOf } from '../support/agent/agentclient.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { answers, type LiveConnection, Telephones, until } from '../support/agent/live.ts';
import { sluice } from '../support/agent/sluice.ts';
import { wrongWith } from '../support/questions/schema.ts';

const [web, api, db, far, stranger] = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.2.0.1', '10.2.0.2'].map(
  address,
);
const [web6, db6] = ['fd01::1', 'fd01::3'].map(address);
const SERVICE = { address: address('10.96.0.1'), port: 80 };

const node = (name: string, ip: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  status: { addresses: [{ type: 'InternalIP', address: ip }] },
});
const pod = (name: string, nodeName: string, ...ips: string[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Running', podIPs: ips.map(ip => ({ ip })) },
});
const CLUSTER = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  node('n1', '172.18.0.1'),
  node('n2', '172.18.0.2'),
  pod('web', 'n1', '10.1.0.1', 'fd01::1'),
  pod('api', 'n1', '10.1.0.2', 'fd01::2'),
  pod('db', 'n1', '10.1.0.3', 'fd01::3'),
  pod('far', 'n2', '10.2.0.1', 'fd02::1'),
  pod('stranger', 'n2', '10.2.0.2', 'fd02::2'),
];
const policy = (...apps: string[]) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'db', namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: apps.map(app => ({ podSelector: { matchLabels: { app } } })) }],
  },
});

let folder: string;
let lab: Lab;
let phones: Telephones;
let agent: AgentProcess;

const write = (file: string, ...items: object[]) =>
  writeFileSync(join(folder, file), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

function ofAgent(...words: string[]) {
  return inNamespace(lab.nodeNamespace('n1'), () =>
    sluice(...words, '--socket', join(folder, 'sluice.sock')),
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-open-'));
  for (const each of ['manifests', 'new']) mkdirSync(join(folder, each));
  write('manifests/cluster.json', ...CLUSTER);
  write('manifests/policies.json', policy('web', 'api', 'far'));
  write('new/policies.json', policy('api'));
  lab = await buildLab(topologyOf((await loadManifests(join(folder, 'manifests'))).cluster));
  installServices(lab, [{ front: SERVICE, back: { address: db!, port: 5434 }, protocol: 'TCP' }]);
  phones = new Telephones(lab);
  agent = new AgentProcess(lab.nodeNamespace('n1'), 'n1', [
    '--manifests',
    join(folder, 'manifests'),
    '--socket',
    join(folder, 'sluice.sock'),
  ]);
  await agent.inForce();
  (await clientOf(join(folder, 'sluice.sock'))).close();
}, 240_000);

afterAll(async () => {
  phones?.close();
  await agent?.kill('SIGTERM');
  lab?.remove();
  rmSync(folder, { recursive: true });
});

test('of all that is open it names what the new policies deny, and the agent cuts just that', async () => {
  const cut: LiveConnection[] = [
    await phones.tcp({ from: web!, to: db!, port: 5432 }),
    await phones.tcp({ from: web!, to: db!, port: 5433 }),
    await phones.tcp({ from: web6!, to: db6!, port: 5432 }),
    await phones.udp({ from: far!, to: db!, port: 53 }),
    await phones.tcp({ from: web!, to: db!, port: 5434, via: SERVICE }),
  ];
  const kept: LiveConnection[] = [
    await phones.tcp({ from: api!, to: db!, port: 5435 }),
    await phones.tcp({ from: db!, to: stranger!, port: 80 }),
    await phones.tcp({ from: web!, to: api!, port: 80 }),
  ];
  const words = ['diff', '@agent', join(folder, 'new'), '--with', '@agent'];
  const { status, stdout, stderr } = ofAgent(...words, '-o', 'json');
  expect([status, stderr]).toEqual([1, '']);
  const said = JSON.parse(stdout);
  expect(wrongWith(said)).toEqual([]);
  expect(
    said.cuts.map(({ flow, count }: { flow: string; count: number }) => `${flow} ${count}`).sort(),
  ).toEqual([
    '10.1.0.1 -> 10.1.0.3:5432/TCP 1',
    '10.1.0.1 -> 10.1.0.3:5433/TCP 1',
    '10.1.0.1 -> 10.1.0.3:5434/TCP via service 1',
    '10.2.0.1 -> 10.1.0.3:53/UDP 1',
    'fd01::1 -> [fd01::3]:5432/TCP 1',
  ]);
  expect(said.cuts[0].reason).toContain('NetworkPolicy shop/db selects shop/db');
  expect(ofAgent(...words).stdout).toContain('\n5 connections that are open now would be cut:\n');
  write('manifests/policies.json', policy('api'));
  await until(() => (/"cut":\d/.test(agent.output) ? true : undefined), 30_000);
  for (const connection of cut) expect(await answers(connection, 1500)).toBe(false);
  for (const connection of kept) expect(await answers(connection)).toBe(true);
  expect(ofAgent(...words).stdout).toContain('no connection that is open now would be cut');
}, 120_000);

test('where nobody answers it says so', () => {
  const { status, stderr } = sluice(
    'diff',
    join(folder, 'manifests'),
    join(folder, 'manifests'),
    '--connections',
    '@agent',
    '--socket',
    join(folder, 'none'),
  );
  expect([status, stderr]).toEqual([2, expect.stringContaining('no agent at ')]);
});
