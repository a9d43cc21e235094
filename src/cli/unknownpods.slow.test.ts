/** Addresses of a pod network that no pod has, asked of a live cluster that does not say what its agents do with them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ExecServer } from '../../test/support/api/execserver.ts';

const NETWORKING = 'networking.k8s.io/v1';
let server: ExecServer;
let folder: string;

const policy = (cidr: string) => ({
  apiVersion: NETWORKING,
  kind: 'NetworkPolicy',
  metadata: { name: 'pods', namespace: 'shop' },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr } }] }] },
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-unknown-'));
  server = await new ExecServer().start();
  const labels = { 'kubernetes.io/metadata.name': 'shop' };
  server.list('/api/v1/namespaces', 'v1', 'Namespace', [{ metadata: { name: 'shop', labels } }]);
  server.list('/api/v1/pods', 'v1', 'Pod', [
    {
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running', podIP: '10.1.1.7', podIPs: [{ ip: '10.1.1.7' }] },
    },
  ]);
  server.nodeObjects = [
    {
      metadata: { name: 'n1' },
      spec: { podCIDRs: ['10.1.1.0/24'] },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
    },
  ];
  server.list(`/apis/${NETWORKING}/networkpolicies`, NETWORKING, 'NetworkPolicy', [policy('10.1.0.0/16')]);
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const spaced = (text: string) => text.replaceAll(/\s+/g, ' ');
const NOTE =
  'addresses of 10.1.1.0/24 that no known pod has are left out: agents deny or allow their packets';

test('a matrix calls none of them allowed, and a note says who knows', async () => {
  const { code, stdout, stderr } = await server.typed('matrix');
  expect([code, spaced(stderr)]).toEqual([0, expect.stringContaining(NOTE)]);
  expect(stdout).not.toContain('10.1.0.0/16');
  const allowed = await server.typed('matrix', '--unknown-pods=allow');
  expect([allowed.stderr, allowed.stdout]).toEqual(['', expect.stringContaining('10.1.0.0/16')]);
  expect((await server.typed('matrix', '--unknown-pods=deny')).stderr).toBe('');
});

test('where no network of a policy has some of them, nothing is said', async () => {
  const path = `/apis/${NETWORKING}/networkpolicies`;
  for (const cidr of ['0.0.0.0/0', '10.2.0.0/16', '198.51.100.0/24']) {
    server.list(path, NETWORKING, 'NetworkPolicy', [policy(cidr)]);
    expect((await server.typed('matrix')).stderr, cidr).toBe('');
  }
});

test('a comparison calls none of them opened', async () => {
  const file = join(folder, 'new.yaml');
  writeFileSync(file, JSON.stringify(policy('10.1.1.0/24')));
  const said = await server.typed('diff', '@cluster', file, '--with', '@cluster', '-o', 'json');
  const { changes, notes } = JSON.parse(said.stdout);
  expect([notes.map(spaced), JSON.stringify(changes)]).toEqual([
    [expect.stringContaining(NOTE)],
    expect.not.stringContaining('10.1.1.'),
  ]);
});

test.each([
  ['allow', 2],
  ['deny', 2],
  ['allow', 0, 'allow'],
  ['deny', 0, 'deny'],
  ['allow', 1, 'deny'],
])('a test that expects %s is %d where the file says %s', async (expected, wanted, unknownPods?: string) => {
  const file = join(folder, 'a.test.yaml');
  const flows = [`10.1.1.250 -> 10.1.1.7:80 ${expected}`, `10.1.1.250 -> shop/web:80 ${expected}`];
  writeFileSync(file, JSON.stringify({ title: 'a', flows, ...(unknownPods && { unknownPods }) }));
  const { code, stdout } = await server.typed('test', file, '-o', 'json');
  expect(code, stdout).toBe(wanted);
  const { cases } = JSON.parse(stdout);
  const failures = cases.flatMap(({ failure }: { failure?: string }) => failure ?? []);
  if (wanted === 2)
    expect(failures).toEqual(flows.map(() => expect.stringContaining('agents deny or allow its packets')));
});
