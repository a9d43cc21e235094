/** What people of one namespace are answered, who may read the policies of the cluster and nothing of other namespaces. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ExecServer } from '../../test/support/api/execserver.ts';

const NETWORKING = 'networking.k8s.io/v1';
const GROUP = '/apis/policy.networking.k8s.io';
const CLUSTER_POLICIES = `${GROUP}/v1alpha2/clusternetworkpolicies`;
const PODS = '/api/v1/namespaces/shop/pods';
const POLICIES = `/apis/${NETWORKING}/namespaces/shop/networkpolicies`;

let server: ExecServer;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tenant-'));
  server = await new ExecServer().start();
  server.list(
    '/api/v1/namespaces',
    'v1',
    'Namespace',
    ['shop', 'ops'].map(name => ({
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name, team: name } },
    })),
  );
  server.list(PODS, 'v1', 'Pod', [pod('web', '10.1.0.7'), pod('db', '10.1.0.8')]);
  server.list(POLICIES, NETWORKING, 'NetworkPolicy', [WEB, DB]);
  server.answers.set(GROUP, { versions: [{ version: 'v1alpha2' }] });
  server.answers.set(`${GROUP}/v1alpha2`, { resources: [{ kind: 'ClusterNetworkPolicy' }] });
  server.list(CLUSTER_POLICIES, 'policy.networking.k8s.io/v1alpha2', 'ClusterNetworkPolicy', []);
  for (const namespace of ['', '/namespaces/ops'])
    for (const path of [`/api/v1${namespace}/pods`, `/apis/${NETWORKING}${namespace}/networkpolicies`])
      server.forbidden.add(path);
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function pod(name: string, podIP: string) {
  return {
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName: 'n1', containers: [] },
    status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] },
  };
}

interface Rule {
  readonly from?: readonly object[];
  readonly to?: readonly object[];
  readonly ports?: readonly object[];
}

function policy(
  name: string,
  rules: { readonly ingress: readonly Rule[]; readonly egress: readonly Rule[] },
) {
  return {
    apiVersion: NETWORKING,
    kind: 'NetworkPolicy',
    metadata: { name, namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: name } }, policyTypes: ['Ingress', 'Egress'], ...rules },
  };
}

const own = (app: string) => ({ podSelector: { matchLabels: { app } } });
const OPS = { namespaceSelector: { matchLabels: { team: 'ops' } } };
const port = (number: number) => ({ port: number, protocol: 'TCP' });
const WEB = policy('web', { ingress: [], egress: [{ to: [own('db')] }] });
const FROM_WEB: Rule = { from: [own('web')], ports: [port(5432)] };
const DB = policy('db', { ingress: [FROM_WEB], egress: [] });
const FOR_OPS = policy('db', { ingress: [FROM_WEB, { from: [OPS], ports: [port(9187)] }], egress: [] });
const MORE = policy('db', { ingress: [{ from: [own('web')] }], egress: [] });

/** What policies of other namespaces could change is said once, with the namespace that is left. */
const SAID = /may not list pods, networkpolicies outside shop/g;

const spaced = (text: string) => text.replaceAll(/\s+/g, ' ');

test('a namespace of which all policies are known has its whole matrix', async () => {
  const { code, stdout, stderr } = await server.typed('matrix', '-n', 'shop');
  expect([code, spaced(stderr).match(SAID)?.length]).toEqual([0, 1]);
  expect(stdout).toMatch(/TCP 5432/);
  expect(stdout).toContain('Whatever is not listed is denied');
  expect(stdout).not.toContain('undecided');
  const data = await server.typed('matrix', '-n', 'shop', '-o', 'json');
  const { connections, notes } = JSON.parse(data.stdout);
  expect([data.code, connections.length, spaced(notes.join(' ')).match(SAID)?.length]).toEqual([0, 1, 1]);
});

test('what an end of another namespace is part of is undecided in the matrix, and nothing else', async () => {
  server.list(POLICIES, NETWORKING, 'NetworkPolicy', [WEB, FOR_OPS]);
  const { code, stdout } = await server.typed('matrix', '-n', 'shop');
  expect(code).toBe(2);
  expect(stdout).toMatch(/pods? in namespaces? .*ops.*: undecided TCP 9187/);
  expect(stdout.match(/undecided/g)).toHaveLength(1);
  expect(stdout).toContain('Pods that you may not list, or that are not there yet');
  expect(stdout).not.toMatch(/^Pods that are not there yet/m);
  expect((await server.typed('matrix', '-n', 'shop', '-o', 'md')).stdout).toContain(
    'Pods that you may not list, or that are not there yet:',
  );
  const { stdout: data } = await server.typed('matrix', '-n', 'shop', '-o', 'json');
  const { connections, exposures } = JSON.parse(data);
  expect(connections).toMatchObject([{ ipv4: { tcp: [[5432, 5432]] } }]);
  expect(connections[0]).not.toHaveProperty('undecided');
  expect(exposures.filter(({ undecided }: { undecided?: object }) => undecided)).toMatchObject([
    { direction: 'ingress', ipv4: { text: 'none' }, undecided: { ipv4: { tcp: [[9187, 9187]] } } },
  ]);
});

test('a matrix of all namespaces is not whole', async () => {
  const { code, stdout } = await server.typed('matrix', '-A', '-n', 'shop');
  expect([code, stdout]).toEqual([2, expect.stringContaining('TCP 5432')]);
  expect(stdout).not.toContain('Whatever is not listed');
});

test('where policies of the cluster may not be read, all that is allowed is undecided', async () => {
  server.forbidden.add(CLUSTER_POLICIES);
  const { code, stdout } = await server.typed('matrix', '-n', 'shop');
  expect([code, stdout]).toEqual([2, expect.stringContaining('undecided TCP 5432')]);
  expect(stdout).not.toContain('Whatever is not listed');
  const diff = await server.typed('diff', '@cluster', '@cluster', '-n', 'shop');
  expect([diff.code, diff.stdout]).toEqual([2, '']);
});

test('a matrix of somebody who may read nothing has no legend, and one sentence says what is missing', async () => {
  for (const path of [PODS, POLICIES, CLUSTER_POLICIES]) server.forbidden.add(path);
  const { code, stdout, stderr } = await server.typed('matrix', '-n', 'shop');
  expect([code, stdout]).toEqual([2, '']);
  expect(spaced(stderr).match(/may not list/g)).toHaveLength(1);
  expect(spaced(stderr)).toContain('no pod in namespace shop can be read in the cluster: there is no matrix');
});

async function diffTo(changed: object) {
  const file = join(folder, 'new.yaml');
  writeFileSync(file, JSON.stringify(changed));
  const words = ['diff', '@cluster', file, '--with', '@cluster', '-n', 'shop'];
  const text = await server.typed(...words);
  const data = await server.typed(...words, '-o', 'json');
  expect(data.code).toBe(text.code);
  return { ...text, changes: JSON.parse(data.stdout).changes };
}

test('a comparison is sure within the namespace, and says what may open beyond it', async () => {
  expect(await diffTo(DB)).toMatchObject({ code: 0, changes: [] });
  const within = await diffTo(MORE);
  expect([within.code, within.changes.length]).toEqual([1, 1]);
  expect(within.changes[0]).not.toHaveProperty('undecided');
  expect(spaced(within.stderr).match(SAID)).toHaveLength(1);
  const beyond = await diffTo(FOR_OPS);
  expect([beyond.code, beyond.stdout]).toEqual([2, expect.stringMatching(/may open .*ops.*TCP 9187/)]);
  expect(beyond.changes).toMatchObject([{ kind: 'opens', undecided: true }]);
  expect((await server.typed('diff', '@cluster', '@cluster')).code).toBe(2);
});

async function tested(...flows: readonly string[]) {
  const file = join(folder, 'a.test.yaml');
  writeFileSync(file, JSON.stringify({ title: 'a', flows }));
  const { code, stdout } = await server.typed('test', file, '-n', 'shop', '-o', 'json');
  return { code, ...JSON.parse(stdout) };
}

test('a test judges what the namespace decides, and has no verdict for the rest', async () => {
  const known = ['web -> db:5432 allow', 'shop/web -> 10.1.0.8:80 deny', 'shop/db -> 203.0.113.1:80 deny'];
  const sure = await tested(...known);
  expect([sure.code, sure.cases.filter(({ failure }: { failure?: string }) => failure)]).toEqual([0, []]);
  const { code, cases } = await tested(
    ...known,
    'ops/app=probe -> db:9187 deny',
    'shop/web -> 10.9.9.9:80 deny',
  );
  const undecided = { isError: true, failure: expect.stringContaining('could not be read') };
  expect([code, cases.slice(3)]).toEqual([
    2,
    [expect.objectContaining(undecided), expect.objectContaining(undecided)],
  ]);
  expect(cases.slice(0, 3).some(({ isError }: { isError?: true }) => isError)).toBe(false);
});

test('the coverage of the namespace is whole, and no rule is called unused for pods that may not be listed', async () => {
  server.list(POLICIES, NETWORKING, 'NetworkPolicy', [WEB, FOR_OPS]);
  const { code, stdout, stderr } = await server.typed('coverage', '-n', 'shop');
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('this is not all')]);
  expect(stdout).toMatch(/shop +2 workloads +ingress 2/);
  expect(stdout).not.toContain('Unused');
  expect((await server.typed('coverage')).code).toBe(2);
});
