/**
 * What `check` calls an error, or warns of as `legacy-address`, is what the API server refuses, and nothing else: by the
 * API server's own decoding and validation, on every NetworkPolicy of this repository, and on random changes of them.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readAllDocuments } from '../../src/inputs/files/manifest.ts';
import { problemText } from '../../src/model/problem.ts';
import { SEED } from '../support/seed.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Answer {
  readonly refused?: readonly string[];
  readonly warnings?: readonly string[];
}

function answers(objects: readonly unknown[]): readonly Answer[] {
  const input = objects.map(object => `${JSON.stringify(object)}\n`).join('');
  const { stdout, stderr, status } = spawnSync(process.env.VALIDATE_BIN!, {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  expect([stderr, status]).toEqual(['', 0]);
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Answer);
}

function ours(object: unknown): readonly string[] {
  return readAllDocuments(JSON.stringify(object), 'web.json')
    .problems.filter(({ severity, code }) => severity === 'error' || code === 'legacy-address')
    .map(problemText);
}

/** Where the two differ, with what each says. */
function differences(objects: readonly object[]) {
  return answers(objects).flatMap(({ refused = [] }, at) => {
    const said = ours(objects[at]);
    return said.length > 0 === refused.length > 0 ? [] : [{ object: objects[at], ours: said, refused }];
  });
}

/** All that are in the documents of YAML files, at whatever depth. */
function policiesIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind, apiVersion } = value as Record<string, unknown>;
  if (kind === 'NetworkPolicy' && apiVersion === 'networking.k8s.io/v1') return [value];
  return Object.values(value).flatMap(policiesIn);
}

const POLICIES = globSync(['test/{scenarios,fixtures}/**/*.yaml', 'examples/**/*.yaml'], { cwd: ROOT })
  .sort()
  .flatMap(file => parseAllDocuments(readFileSync(join(ROOT, file), 'utf8'), { merge: true }))
  .filter(({ errors }) => errors.length === 0)
  .flatMap(document => policiesIn(document.toJS({ maxAliasCount: -1 })));

test('every NetworkPolicy of the scenarios, fixtures and examples', () => {
  expect(POLICIES.length).toBeGreaterThan(200);
  expect(answers(POLICIES).filter(({ refused }) => refused !== undefined).length).toBeGreaterThan(3);
  expect(differences(POLICIES)).toEqual([]);
});

const VALUES: readonly unknown[] = [
  null,
  undefined,
  true,
  0,
  1,
  -1,
  1.5,
  80,
  65535,
  65536,
  '',
  ' ',
  'a',
  'http',
  'HTTP',
  '-a',
  'a-',
  'a--b',
  '80',
  '8-0',
  'a'.repeat(15),
  'a'.repeat(16),
  'a'.repeat(64),
  'A_b.c',
  'a/b',
  'a/b/c',
  '/a',
  'a/',
  'Example.com/a',
  'é',
  'a.b',
  'TCP',
  'tcp',
  'ICMP',
  'SCTP',
  'Ingress',
  'ingress',
  'In',
  'Exists',
  'DoesNotExist',
  'NotIn',
  'Gt',
  '10.0.0.0/8',
  '10.0.0.5/24',
  '10.0.0.0/33',
  '10.0.0.0',
  '010.0.0.0/8',
  '10.0.0.0/08',
  ' 10.0.0.0/8',
  '10.0.0.0/8 ',
  '10.0.0/8',
  '10.0.0.0/-1',
  '10.0.0.0/+8',
  '::/0',
  '::1/128',
  '::1/64',
  '::ffff:10.0.0.0/104',
  '::ffff:a00:0/104',
  '2001:DB8::/32',
  '2001:0db8::/32',
  'fe80::1%eth0/64',
  '0.0.0.0/0',
  '10.1.0.0/16',
  [],
  {},
  [null],
  [{}],
  [''],
  ['a'],
  ['Egress'],
  { a: 'b' },
  { a: 1 },
  { matchLabels: {} },
  { matchLabels: null },
  { podSelector: {} },
  { ipBlock: { cidr: '10.0.0.0/8' } },
  { ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } },
  { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } },
  { port: 80, endPort: 79 },
  { port: 'http', endPort: 80 },
  { endPort: 80 },
  { port: 80, endPort: 90 },
];

/** What an API server writes itself is left as it is. */
const SERVER_WRITES = new Set(['generation', 'managedFields', 'creationTimestamp', 'resourceVersion', 'uid']);

const KEYS = [
  'podSelector',
  'namespaceSelector',
  'ipBlock',
  'cidr',
  'except',
  'ports',
  'port',
  'endPort',
  'protocol',
  'from',
  'to',
  'ingress',
  'egress',
  'policyTypes',
  'matchLabels',
  'matchExpressions',
  'key',
  'operator',
  'values',
  'spec',
  'metadata',
  'labels',
  'annotations',
  'name',
  'namespace',
  'Ingress',
  'PodSelector',
  'a',
  'domainNames',
  'status',
];

/** A copy in which something is another value, gone, or new. */
function changed(policy: object, at: number, value: unknown, key: string, how: number): object {
  const copy = structuredClone(policy);
  const places: [Record<string, unknown>, string][] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const each of Object.keys(node)) {
      if (SERVER_WRITES.has(each) || (node === copy && each !== 'spec' && each !== 'metadata')) continue;
      places.push([node as Record<string, unknown>, each]);
      walk((node as Record<string, unknown>)[each]);
    }
  };
  walk(copy);
  const [node, name] = places[at % places.length] ?? [copy as Record<string, unknown>, 'spec'];
  if (how === 0) node[name] = value;
  else if (how === 1) delete node[name];
  else if (Array.isArray(node)) node.push(value);
  else node[key] = value;
  return JSON.parse(JSON.stringify(copy)) as object;
}

/**
 * The API server reads `null` in a list as an entry without anything: `ingress: [null]` allows everything. Nobody who left
 * an entry empty means that, so here it is an error, and matches nothing.
 */
function hasEmptyEntry(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (Array.isArray(value) && value.includes(null)) || Object.values(value).some(hasEmptyEntry);
}

test('random changes of them', () => {
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom(...VALUES),
    fc.constantFrom(...KEYS),
    fc.constantFrom(0, 0, 0, 1, 2, 2),
  );
  const one = fc.tuple(fc.constantFrom(...POLICIES), fc.array(change, { minLength: 1, maxLength: 2 }));
  const objects = fc
    .sample(one, { numRuns: 20_000, seed: SEED })
    .map(([policy, changes]) => changes.reduce((object, each) => changed(object, ...each), policy))
    .filter(object => !hasEmptyEntry(object));
  const refused = answers(objects).filter(answer => answer.refused !== undefined).length;
  expect(Math.min(refused, objects.length - refused)).toBeGreaterThan(1_000);
  expect(differences(objects).slice(0, 5)).toEqual([]);
});

test('what it only warns of is written otherwise than it would be, and is read alike', () => {
  const block = (cidr: string) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'a' },
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr } }] }] },
  });
  expect(answers([block('2001:DB8::/32'), block('2001:db8:0::/48'), block('10.0.0.0/8')])).toEqual([
    { warnings: [expect.stringContaining('should be in RFC 5952 canonical format ("2001:db8::/32")')] },
    { warnings: [expect.stringContaining('"2001:db8::/48"')] },
    {},
  ]);
});
