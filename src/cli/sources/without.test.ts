/** `--without`: the answer of every question as if a policy did not exist. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;

const deployment = (name: string) =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: c, ports: [{ containerPort: 80 }] }] } } } }`;
const closed = (name: string, namespace = 'shop', more = '') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: ${namespace}${more} }, spec: { podSelector: {}, policyTypes: [Ingress] } }`;
const clusterWide = (apiVersion: string, kind: string, name: string, spec: string) =>
  `{ apiVersion: policy.networking.k8s.io/${apiVersion}, kind: ${kind}, metadata: { name: ${name} }, spec: { ${spec}subject: { namespaces: {} }, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] } }`;

const APPLICATION = [
  '{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }',
  deployment('web'),
  deployment('db'),
];
const POLICIES = {
  'shop/db': closed('db'),
  'cnp:platform': clusterWide('v1alpha2', 'ClusterNetworkPolicy', 'platform', 'tier: Admin, priority: 1, '),
  'anp:platform': clusterWide('v1alpha1', 'AdminNetworkPolicy', 'platform', 'priority: 2, '),
  'banp:default': clusterWide('v1alpha1', 'BaselineAdminNetworkPolicy', 'default', ''),
};

function write(file: string, ...documents: readonly string[]) {
  writeFileSync(join(folder, file), `${documents.join('\n---\n')}\n`);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-without-'));
  write('application.yaml', ...APPLICATION);
  write('all.yaml', ...APPLICATION, ...Object.values(POLICIES));
  for (const [name, policy] of Object.entries(POLICIES))
    write(`${name.replace(/\W/g, '-')}.yaml`, ...APPLICATION, policy);
  write('other.yaml', ...APPLICATION, POLICIES['shop/db'], closed('api', 'bank'));
  write(
    'audited.yaml',
    ...APPLICATION,
    closed('tried', 'shop', ', annotations: { sluice.dev/enforcement: audit }'),
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sluice(...words: string[]) {
  const main = join(import.meta.dirname, '../main.ts');
  const env = { ...process.env, NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    encoding: 'utf8',
    cwd: folder,
    env,
  });
  return { status, stdout, stderr };
}

const ASKED = ['explain', 'shop/deploy/web', 'shop/deploy/db:80'];

test.each(Object.keys(POLICIES))('explain without %s allows what it alone denies', name => {
  const file = `${name.replace(/\W/g, '-')}.yaml`;
  expect(sluice(...ASKED, '--manifests', file).status).toBe(1);
  const { status, stderr, stdout } = sluice(...ASKED, '--manifests', file, '--without', name);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringMatching(
      /^note: left out \(--without\): \w+ [\w/]+; the answer is as if it did not exist\n$/,
    ),
  });
  expect(stdout).not.toContain('decided');
});

test('explain leaves out as many as are named, and no others', () => {
  const without = (...names: string[]) => names.flatMap(name => ['--without', name]);
  const ask = (...names: string[]) => sluice(...ASKED, '--manifests', 'all.yaml', ...without(...names));
  expect(ask('shop/db', 'cnp:platform', 'anp:platform').stdout).toContain(
    'BaselineAdminNetworkPolicy default',
  );
  const all = ask('NetworkPolicy shop/db', 'cnp:platform', 'AdminNetworkPolicy platform', 'default');
  expect(all.status).toBe(0);
  expect(all.stderr).toContain('NetworkPolicy shop/db; the answer is as if they did not exist');
});

test.each([
  ['shop/dbb', 'all.yaml', 'there is no policy shop/dbb in the manifests; did you mean shop/db?'],
  [
    'cnp:platfrom',
    'all.yaml',
    'there is no policy cnp:platfrom in the manifests; did you mean cnp:platform?',
  ],
  ['shop/api', 'other.yaml', 'there is no policy shop/api in the manifests; did you mean bank/api?'],
  [
    'entirely-different',
    'other.yaml',
    'there is no policy entirely-different in the manifests (bank/api, shop/db)',
  ],
  ['shop/db', 'application.yaml', 'there is no policy shop/db in the manifests; there are no policies'],
  ['platform', 'all.yaml', '--without platform means cnp:platform and anp:platform: name one of them'],
  ['db', 'all.yaml', 'there is no policy db in the manifests; did you mean shop/db?'],
  ['x\x1b[2J', 'other.yaml', 'there is no policy x\\x1b[2J in the manifests (bank/api, shop/db)'],
])('%j is refused: %s', (name, file, message) => {
  const { status, stderr } = sluice('matrix', '--manifests', file, '--without', name);
  expect(stderr).toContain(`sluice: ${message}\n`);
  expect(status).toBe(2);
});

test('a name without a namespace is of that of -n', () => {
  expect(sluice(...ASKED, '-n', 'shop', '--manifests', 'shop-db.yaml', '--without', 'db').status).toBe(0);
});

test('matrix and coverage are those of the same folder without the policy', () => {
  for (const command of ['matrix', 'coverage'])
    expect(sluice(command, '--manifests', 'shop-db.yaml', '--without', 'shop/db').stdout).toBe(
      sluice(command, '--manifests', 'application.yaml').stdout,
    );
});

test('JSON has a note of it', () => {
  const { stdout } = sluice('matrix', '-o', 'json', '--manifests', 'shop-db.yaml', '--without', 'shop/db');
  expect(JSON.parse(stdout).notes).toContainEqual(
    expect.stringContaining('left out (--without): NetworkPolicy shop/db'),
  );
});

test('diff leaves a policy out of both sides, and it may be in one of them', () => {
  expect(sluice('diff', 'application.yaml', 'shop-db.yaml').status).toBe(1);
  const { status, stdout } = sluice('diff', 'application.yaml', 'shop-db.yaml', '--without', 'shop/db');
  expect(stdout).toContain('no connection opens or closes');
  expect(status).toBe(0);
  expect(sluice('diff', 'application.yaml', 'shop-db.yaml', '--without', 'bank/db').stderr).toContain(
    'there is no policy bank/db on either side; did you mean shop/db?',
  );
});

test('test leaves out those of manifests, of the file itself and of its steps', () => {
  const flow = 'flows: [shop/deploy/web -> shop/deploy/db:80 allow]';
  write('paths.test.yaml', `manifests: [shop-db.yaml]\n${flow}`);
  write('own.test.yaml', `manifests: [${[...APPLICATION, POLICIES['shop/db']].join(', ')}]\n${flow}`);
  write(
    'steps.test.yaml',
    `manifests: [application.yaml]\nsteps: [{ apply: [${POLICIES['shop/db']}], ${flow} }]`,
  );
  expect(sluice('test', '.').status).toBe(1);
  const { status, stdout, stderr } = sluice('test', '.', '--without', 'shop/db');
  expect(stdout).toContain('ok: 3 flows in 3 files');
  expect(stderr).toContain('left out (--without): NetworkPolicy shop/db');
  expect(status).toBe(0);
  expect(sluice('test', '.', '--without', 'shop/web').stderr).toContain(
    'there is no policy shop/web in the tests and their manifests (shop/db)',
  );
});

test('an audited policy that is left out has no note either', () => {
  const asked = [...ASKED, '--manifests', 'audited.yaml'];
  expect(sluice(...asked).stderr).toContain('audited, not enforced');
  expect(sluice(...asked, '--without', 'shop/tried').stderr).not.toContain('audited, not enforced');
});
