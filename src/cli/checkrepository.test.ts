/** `sluice check .` at the root of a repository, of which only a few files are about policy. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-root-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const WEB =
  'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec: { template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: a }] } } }\n';
const POLICY =
  'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: web }\nspec: { podSelector: { matchLabels: { app: web } } }\n';
const CRD = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: a.b }\n';

const REPOSITORY = {
  'package.json': '{ "name": "shop" }',
  'tsconfig.json': '// ours\n{ "compilerOptions": {}, }',
  'mkdocs.yaml': 'site: !!python/name:a.b.c\n',
  'docs/_category_.json': '{ "label": "a", "position": 1 }',
  'cloudbuild.yaml': 'steps: [{ name: a }]\n',
  '.gitignore': '/dist\n',
  'dist/web.yaml': POLICY,
  'node_modules/a/b.yaml': 'a: [',
  'chart/Chart.yaml': 'apiVersion: v2\nname: shop\n',
  'chart/values.yaml': 'a: 1\n',
  'chart/templates/policy.yaml': '{{- if .Values.a }}\nkind: NetworkPolicy\n{{- end }}\n',
  'base/web.yaml': `${WEB}---\n${POLICY}---\n${CRD}`,
  'base/kustomization.yaml': 'resources: [web.yaml]\n',
  'prod/kustomization.yaml': 'resources: [../base]\npatches: [{ path: more.yaml }]\n',
  'prod/more.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec: { replicas: 3 }\n',
  'tests/shop.test.yaml': 'manifests: [../base]\nflows: []\n',
};

test('check of a whole repository says nothing of what is no manifest, and counts it in its last line', () => {
  write(REPOSITORY);
  expect(sluice('check', '.')).toEqual([
    0,
    `note: chart chart is not rendered, and not read: \`helm template chart | sluice check -\` reads it, as check --render does
note: not read, though they have policies, for a .gitignore names them or they are patches of a kustomization: dist/web.yaml
ok: 0 namespaces, 0 nodes, 0 pods, 1 workload, 1 policy
read 1 workload and 1 policy in 2 documents of 1 file; left out: 1 CustomResourceDefinition, 10 files without a Kubernetes object, 1 patch of kustomizations, 2 paths that .gitignore names
`,
  ]);
});

test('check -o json ends with what was read', () => {
  write({ 'a.yaml': `${WEB}---\n${POLICY}`, 'b.json': '{}', 'c/Chart.yaml': '', 'c/templates/d.yaml': '' });
  const [status, text] = sluice('check', '.', '-o', 'json');
  expect([status, JSON.parse(text)]).toMatchObject([
    0,
    {
      kind: 'Reading',
      files: 1,
      documents: 2,
      workloads: 1,
      policies: 1,
      leftOut: { foreign: 2, charts: ['c'] },
    },
  ]);
});

test('check --each takes each path for a cluster of its own', () => {
  write({
    'a/web.yaml': WEB,
    'b/web.yaml': `${WEB}---\n${POLICY}`,
    'c/policy.yaml': POLICY,
    'd/a.json': '{}',
  });
  write({ 'e/bad.yaml': POLICY.replace('name: web', 'name: _') });
  const folders = ['a', 'b', 'c', 'd', 'e'];
  const [status, text] = sluice('check', '--each', ...folders);
  expect([status, text]).toEqual([
    1,
    `a: ok: 0 namespaces, 0 nodes, 0 pods, 1 workload, 0 policies
b: ok: 0 namespaces, 0 nodes, 0 pods, 1 workload, 1 policy
c: ok: 0 namespaces, 0 nodes, 0 pods, 0 workloads, 1 policy
d: holds no object that Sluice reads
error: e/bad.yaml:3: NetworkPolicy default/_: metadata.name "_" is not a name; the policy is not applied
e: 1 error, 0 warnings in 0 namespaces, 0 nodes, 0 pods, 0 workloads, 0 policies
5 clusters: 1 with errors, 0 with warnings alone
`,
  ]);
  const objects = sluice('check', '--each', ...folders, '-o', 'json')[1]
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(objects.map(({ kind, path }) => path ?? kind)).toEqual(['a', 'b', 'c', 'd', 'Problem', 'e']);
  expect(sluice('check', '--each', 'd')[0]).toBe(2);
});

test('questions are asked of a whole repository too, and say which chart they know nothing of', () => {
  write(REPOSITORY);
  const [status, text] = sluice('matrix', '--manifests', '.', '-o', 'json');
  expect([status, JSON.parse(text).notes]).toEqual([
    0,
    [
      expect.stringMatching(/^not read, though they have policies, .*: dist\/web.yaml$/),
      'not read, because it is not rendered: chart chart',
    ],
  ]);
});

const FLOWS = "manifests: ['.']\nflows: ['default/deploy/web -> default/deploy/web:80 allow']\n";

test.each([
  ['test', 'a.test.yaml', '-o', 'json'],
  ['explain', 'default/web', 'default/web:80', '--manifests', '.', '-o', 'json'],
  ['coverage', '--manifests', '.', '-o', 'json'],
  ['diff', '.', '.', '-o', 'json'],
])('%s says which policies it has left out', (...words) => {
  write({ '.gitignore': 'allow.yaml\n', 'allow.yaml': POLICY, 'web.yaml': WEB, 'a.test.yaml': FLOWS });
  expect(sluice(...words)[1]).toMatch(/not read, though they have policies, .*allow.yaml/);
});

test('a policy that a .gitignore names and that is named as a path is read', () => {
  write({ '.gitignore': 'allow.yaml\n', 'allow.yaml': POLICY, 'web.yaml': WEB });
  expect(sluice('check', '.', 'allow.yaml')[1]).not.toContain('not read');
});

test('a repository in which nothing is read is refused, with what was left out', () => {
  write({ 'package.json': '{}', 'a.yaml': CRD, 'chart/Chart.yaml': 'name: a', 'chart/templates/a.yaml': '' });
  const [status, text] = sluice('check', '.');
  expect(status).toBe(2);
  expect(text).toMatch(
    /^sluice: \. holds no object that Sluice reads \(left out: 1 CustomResourceDefinition\).*helm template chart/,
  );
});

test('loops of links, names of anybody, files that may not be read and pipes are bounded, and said', () => {
  write({
    'a.yaml': WEB,
    'deep/b.yaml': 'kind: b: c\napiVersion: [',
    'no.yaml': '',
    "ev'il\n$(x)/Chart.yaml": '',
    "ev'il\n$(x)/templates/a.yaml": '',
  });
  symlinkSync('..', join(root, 'deep', 'up'));
  symlinkSync('self', join(root, 'self'));
  symlinkSync('lost', join(root, 'lost.yaml'));
  chmodSync(join(root, 'no.yaml'), 0o000);
  spawnSync('mkfifo', [join(root, 'pipe.yaml')]);
  const [status, text] = sluice('check', '.');
  expect(status).toBe(1);
  const lines = text.trimEnd().split('\n');
  expect(lines).toContain(
    String.raw`note: chart ev'il\x0a$(x) is not rendered, and not read: ${'`'}helm template 'ev'\''il\x0a$(x)' | sluice check -${'`'} reads it, as check --render does`,
  );
  expect(text).toContain('error: lost.yaml: ');
  expect(text).toContain('error: pipe.yaml: is neither a file nor a folder');
  expect(text).toContain('error: deep/b.yaml:1: ');
  expect(text).toContain('1 link to nowhere');
});

function write(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** The exit code, and all that was printed. */
function sluice(...words: string[]): [number | null, string] {
  const main = join(import.meta.dirname, 'main.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    encoding: 'utf8',
    cwd: root,
  });
  return [status, stdout === '' ? stderr : stdout];
}
