/** Every JSON that a question prints is what docs/schema/sluice-v1.json promises. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { inspectionObject } from '../../src/cli/inspecttext.ts';
import { SCHEMA_VERSION } from '../../src/cli/schema.ts';
import { WARNING_CODES } from '../../src/model/problem.ts';
import { inspectRuleset } from '../../src/readback/inspect.ts';
import { SRC } from '../support/importgraph.ts';

const ROOT = join(SRC, '..');
const schema = JSON.parse(readFileSync(join(ROOT, 'docs/schema/sluice-v1.json'), 'utf8'));
const validate = new Ajv2020({
  allErrors: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
}).compile(schema);
const QUESTIONS = join(ROOT, 'test/fixtures/questions.yaml');

/** A kind's own errors: those of the other kinds say nothing. */
function wrong(object: { readonly kind: string }): unknown {
  const ofKind = new Ajv2020({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
  }).compile({
    ...schema,
    $id: `${schema.$id}/${object.kind}`,
    oneOf: [{ $ref: `#/$defs/${object.kind}` }],
  });
  return validate(object) || ofKind(object) ? [] : ofKind.errors;
}

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
  'guest/visitor node/n1:30080',
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
  expect(objects).toHaveLength(10);
  for (const object of objects) expect(wrong(object), JSON.stringify(object)).toEqual([]);
  const text = JSON.stringify(objects);
  for (const part of [
    '"stops":[{',
    '"nearly":[{',
    '"objects":[{',
    '"viaNode"',
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
  for (const object of objects) expect(wrong(object)).toEqual([]);
});

test('matrix, diff and version', () => {
  const shop = join(ROOT, 'examples/shop');
  for (const words of [
    ['matrix', '--manifests', shop, '-o', 'json'],
    ['diff', shop, QUESTIONS, '-o', 'json'],
    ['version', '-o', 'json'],
  ])
    for (const object of printed(words)) expect(wrong(object)).toEqual([]);
});

test('inspect', () => {
  const inspection = inspectRuleset({ tables: new Map() } as never);
  const object = inspectionObject(inspection, { missing: 'no agent' }) as { kind: string };
  expect(wrong(JSON.parse(JSON.stringify(object)))).toEqual([]);
});

test('the schema knows the version and every kind of warning, and would refuse another word', () => {
  expect(schema.$defs.apiVersion.const).toBe(SCHEMA_VERSION);
  expect(schema.$defs.Problem.properties.code.enum).toEqual([...WARNING_CODES]);
  const problem = {
    apiVersion: SCHEMA_VERSION,
    kind: 'Problem',
    severity: 'error',
    message: 'a',
    effect: 'b',
  };
  expect(validate(problem)).toBe(true);
  expect(validate({ ...problem, severity: 'Error' })).toBe(false);
  expect(validate({ ...problem, apiVersion: 'sluice/v2' })).toBe(false);
});
