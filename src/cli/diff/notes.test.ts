/** The notes that `sluice diff` prints beside its answer. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;

const policy = (metadata: string, app = 'web') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p${metadata} }, spec: { podSelector: { matchLabels: { app: ${app} } } } }\n`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-diff-'));
  const write = (file: string, ...documents: string[]) =>
    writeFileSync(join(folder, file), documents.join('---\n'));
  write(
    'cluster.yaml',
    '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop }, spec: { template: { metadata: { labels: { app: web } } } } }\n',
  );
  const audited = policy(', namespace: shop, annotations: { sluice.dev/enforcement: audit }');
  write('audited.yaml', audited);
  write('audited-too.yaml', audited, policy(', namespace: shop', 'web').replace('name: p', 'name: q'));
  write('none.yaml', '{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }\n');
  write('empty.yaml', '{ apiVersion: v1, kind: Namespace, metadata: { name: new } }\n');
  write('nameless.yaml', policy(''));
  write('nobody.yaml', policy(', namespace: shop', 'api'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function diff(...words: string[]) {
  const main = join(import.meta.dirname, '../main.ts');
  const asked = [main, 'diff', ...words, '--with', 'cluster.yaml'];
  const { status, stdout, stderr } = spawnSync(process.execPath, asked, { encoding: 'utf8', cwd: folder });
  return { status, stdout, stderr };
}

test('what is said of both sides is said once', () => {
  const { status, stderr } = diff('audited.yaml', 'audited-too.yaml');
  expect(status).toBe(1);
  expect(stderr.match(/audited, not enforced: NetworkPolicy shop\/p; it protects nothing/g)).toHaveLength(1);
});

test.each([
  [
    'of none is in default, where nobody is',
    'nameless.yaml',
    [],
    'note: NetworkPolicy default/p selects none of the pods and workloads that are there (manifests that name no namespace are of default: -n names another)\n',
  ],
  [
    'selects no label that is there',
    'nobody.yaml',
    [],
    'note: NetworkPolicy shop/p selects none of the pods and workloads that are there\n',
  ],
])('a policy that %s is no silent answer', (_, file, words, said) => {
  const { status, stderr } = diff('none.yaml', file, ...words);
  expect([status, stderr]).toEqual([1, said]);
  expect(JSON.parse(diff('none.yaml', file, '-o', 'json').stdout).notes).toEqual([said.slice(6, -1)]);
  expect(diff(file, file).stderr).toBe('');
});

test('with -n it is of that namespace', () => {
  expect(diff('none.yaml', 'nameless.yaml', '-n', 'shop')).toMatchObject({ status: 1, stderr: '' });
});

test('an error is as long as somebody reads, whatever names there are', () => {
  const long = 'x'.repeat(100_000);
  for (const words of [
    [long, 'none.yaml'],
    ['none.yaml', 'none.yaml', '--unknown-pods', long],
  ])
    expect(diff(...words)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^(?=[\s\S]{10,600}$)/),
    });
});

test('a namespace that nothing is in may be mistyped, and is no answer', () => {
  const { status, stdout, stderr } = diff('none.yaml', 'audited.yaml', '-n', 'shp');
  expect([status, stdout, stderr]).toEqual([
    2,
    '',
    expect.stringMatching(/sluice: there is no namespace shp on either side; did you mean shop\?\n$/),
  ]);
  expect(diff('none.yaml', 'none.yaml', '-n', 'shp', '-A').status).toBe(0);
});

test('of labels that nobody has, and of a namespace without pods, it is said that nobody is asked about', () => {
  const nobody = 'there is no pod and no workload';
  const labels = diff('none.yaml', 'none.yaml', '-l', 'app=wbe');
  expect(labels).toMatchObject({
    status: 0,
    stderr: `note: ${nobody} with these labels on either side\n`,
  });
  const empty = diff('none.yaml', 'none.yaml', '--with', 'empty.yaml', '-n', 'new', '-o', 'json');
  expect(JSON.parse(empty.stdout).notes).toEqual([`${nobody} in namespace new on either side`]);
});
