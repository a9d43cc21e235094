/** Every JSON that a question prints is what docs/schema/sluice-v1.json promises. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectRuleset } from '../../src/answers/readback/inspect.ts';
import { SCHEMA_VERSION } from '../../src/answers/schema.ts';
import { inspectionObject } from '../../src/cli/inspect.ts';
import { WARNING_CODES } from '../../src/model/problem.ts';
import { RECORDING } from '../../src/observe/recording/write.ts';
import { files, SRC } from '../support/importgraph.ts';
import { isOfSchema, SCHEMA, wrongWith } from '../support/questions/schema.ts';

const ROOT = join(SRC, '..');
const QUESTIONS = join(ROOT, 'test/fixtures/questions.yaml');
const ENTRANCES = join(ROOT, 'examples/ingress');
const NAMES = join(ROOT, 'examples/user-stories/9-domain-names');

function printed(words: string[], input = ''): { readonly kind: string }[] {
  const main = join(SRC, 'cli/main.ts');
  const { stdout, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', input });
  expect(stdout, stderr).not.toBe('');
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
}

const FLOWS = [
  'guest/visitor shop/web-1-a:8080',
  'guest/visitor deploy/web:http',
  'guest/visitor svc/web:80',
  'guest/visitor svc/nobody:80',
  'internet shop/web-1-a:8080',
  'guest/visitor node/far:30080',
  'shop/app=web node/far:30080',
  'cronjob/backup internet:443',
  'shop/app=web sts/db',
  'guest/nobody shop/web-1-a:1',
  'one',
].join('\n');

test('explain, with its walks, cases, near misses and fixes', () => {
  const objects = printed(
    ['explain', '-n', 'shop', '--flows', '-', '--manifests', QUESTIONS, '--fix', '-o', 'json'],
    FLOWS,
  );
  expect(objects).toHaveLength(11);
  for (const object of objects) expect(wrongWith(object), JSON.stringify(object)).toEqual([]);
  const text = JSON.stringify(objects);
  for (const part of [
    '"stops":[{',
    '"nearly":[{',
    '"objects":[{',
    '"viaNode"',
    '"dialled"',
    '"onNode"',
    '"undecided"',
    '"error"',
    '"none"',
  ])
    expect(text).toContain(part);
});

test('check', () => {
  const bad =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p }, spec: { podSelector: 1 } }\n---\n{ apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: { name: c } }';
  const objects = printed(['check', '-', '-o', 'json'], bad);
  expect(objects.length).toBeGreaterThan(1);
  for (const object of objects) expect(wrongWith(object)).toEqual([]);
});

test('matrix, coverage, diff and version', () => {
  const shop = join(ROOT, 'examples/shop');
  for (const words of [
    ['matrix', '--manifests', shop, '-o', 'json'],
    ['matrix', '--manifests', join(ROOT, 'examples/user-stories/4-tenants'), '-o', 'json'],
    ['matrix', '--manifests', QUESTIONS, '-o', 'json'],
    ['matrix', '--manifests', ENTRANCES, '-o', 'json'],
    ['explain', 'internet', 'shop/deploy/web:8080', '--manifests', ENTRANCES, '-o', 'json'],
    ['coverage', '--manifests', QUESTIONS, '-o', 'json'],
    ['coverage', '--manifests', shop, '--direction', 'egress', '-o', 'json'],
    ['matrix', '--manifests', NAMES, '-o', 'json'],
    ['diff', shop, QUESTIONS, '-o', 'json'],
    ['diff', shop, NAMES, '-o', 'json'],
    ['version', '-o', 'json'],
  ])
    for (const object of printed(words)) expect(wrongWith(object)).toEqual([]);
});

test('test, where a flow is as expected, where it is not, and where nobody can say', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-schema-'));
  const file = join(folder, 'a.test.yaml');
  const flows = [
    'guest/visitor -> shop/web:80 allow',
    'shop/web -> shop/db:5432 allow',
    'shop/no -> shop/db:1 deny',
  ];
  writeFileSync(file, JSON.stringify({ title: 'a', manifests: [join(ROOT, 'examples/shop')], flows }));
  const [result, ...others] = printed(['test', file, '-o', 'json']) as { kind: string; cases: object[] }[];
  rmSync(folder, { recursive: true });
  expect([wrongWith(result!), others]).toEqual([[], []]);
  expect(result!.cases).toEqual([
    expect.not.objectContaining({ failure: expect.anything() }),
    expect.objectContaining({ failure: expect.stringContaining('expected allow, got deny') }),
    expect.objectContaining({ isError: true }),
  ]);
});

test('diff with a recording', () => {
  const recording = [
    'guest/visitor shop/web:80',
    'guest/visitor shop/web:80',
    'shop/web -> shop/db:5432',
    'tcp 6 431999 ESTABLISHED src=10.244.1.66 dst=10.96.0.80 sport=4 dport=80 src=10.244.1.10 dst=10.244.1.66 sport=80 dport=4',
  ].join('\n');
  const closed = JSON.stringify({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
  });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-schema-'));
  writeFileSync(join(folder, 'web.json'), closed);
  const shop = join(ROOT, 'examples/shop');
  const words = ['diff', shop, folder, '--with', shop, '--connections', '-', '-o', 'json'];
  const [object] = printed(words, recording) as {
    kind: string;
    cuts: { count: number }[];
    deniedBefore: number;
  }[];
  rmSync(folder, { recursive: true });
  expect(wrongWith(object!)).toEqual([]);
  expect(object!.cuts.map(({ count }) => count)).toEqual([2, 1]);
  expect(object!.deniedBefore).toBe(1);
});

test('every kind that a command prints is in the schema, and nothing else is', () => {
  const printedKinds = [
    ...new Set([...[...files, '../bench/table.ts'].flatMap(kindsIn), RECORDING.kind]),
  ].sort();
  const promised = SCHEMA.oneOf.map(({ $ref }: { $ref: string }) => $ref.split('/').at(-1));
  expect(printedKinds).toEqual(promised.sort());
});

function kindsIn(file: string): string[] {
  return [...readFileSync(join(SRC, file), 'utf8').matchAll(/versioned\('(\w+)'/g)].map(([, kind]) => kind!);
}

test('inspect', () => {
  const inspection = inspectRuleset({ tables: new Map() } as never);
  const object = inspectionObject(inspection, { missing: 'no agent' }) as { kind: string };
  expect(wrongWith(JSON.parse(JSON.stringify(object)))).toEqual([]);
});

test('the schema knows the version and every kind of warning, and would refuse another word', () => {
  expect([SCHEMA.$defs.apiVersion.const, RECORDING.apiVersion]).toEqual([SCHEMA_VERSION, SCHEMA_VERSION]);
  expect(SCHEMA.$defs.Problem.properties.code.enum).toEqual([...WARNING_CODES]);
  const problem = {
    apiVersion: SCHEMA_VERSION,
    kind: 'Problem',
    severity: 'error',
    message: 'a',
    effect: 'b',
  };
  expect(isOfSchema(problem)).toBe(true);
  expect(isOfSchema({ ...problem, severity: 'Error' })).toBe(false);
  expect(isOfSchema({ ...problem, apiVersion: 'sluice/v2' })).toBe(false);
});
