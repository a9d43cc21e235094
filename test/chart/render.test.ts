/** `sluice check --render` on charts and kustomizations of strangers, by helm and kustomize themselves. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Renderer } from '../../src/cli/sources/render.ts';
import { isolates } from '../../src/cli/sources/sandbox.ts';

const ROOT = join(import.meta.dirname, '../..');
const PATH = process.env.PATH;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-render-real-'));
  process.env.PATH = `${process.env.CHART_BIN}:${PATH}`;
});

afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

function write(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const deployment = (name: string, more = '') =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: ${name}${more} }\nspec: { template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: a }] } } }\n`;
const POLICY =
  'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: web }\nspec: { podSelector: { matchLabels: { app: web } } }\n';

test('check --render of a folder with overlays and a chart reads what they come to, once', () => {
  write({
    'base/web.yaml': deployment('web'),
    'base/policy.yaml': POLICY,
    'base/kustomization.yaml': 'resources: [web.yaml, policy.yaml]\n',
    'prod/kustomization.yaml':
      'namespace: shop\nresources: [../base]\npatches: [{ path: more.yaml }]\nlabels: [{ pairs: { tier: front }, includeTemplates: true }]\n',
    'prod/more.yaml':
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec: { replicas: 3 }\n',
    'db/Chart.yaml': 'apiVersion: v2\nname: db\nversion: 1.0.0\n',
    'db/templates/db.yaml': deployment('{{ .Release.Name }}', ', namespace: shop'),
  });
  const program = join(ROOT, 'src/cli/main.ts');
  const { stdout, stderr } = spawnSync(process.execPath, [program, 'check', '.', '--render'], {
    encoding: 'utf8',
    cwd: folder,
  });
  expect([stdout, stderr]).toEqual([
    'ok: 0 namespaces, 0 nodes, 0 pods, 2 workloads, 1 policy\nread 2 workloads and 1 policy in 3 documents of 2 files; left out: 3 files without a Kubernetes object\n',
    '',
  ]);
});

/** Files that a kustomization of the folder `a` must not have, each with how it asks for them, and what it is told. */
const OUTSIDE: readonly [string, Record<string, string>, RegExp][] = [
  [
    'a file by URL',
    { 'a/kustomization.yaml': 'resources: ["http://127.0.0.1:PORT/a.yaml"]' },
    /127\.0\.0\.1/,
  ],
  ['a base by URL', { 'a/kustomization.yaml': 'resources: ["https://127.0.0.1:PORT/a//b?ref=v1"]' }, /git/],
  ['a base of ssh', { 'a/kustomization.yaml': 'resources: ["git@127.0.0.1:a/b.git"]' }, /git/],
  ['a base of GitHub', { 'a/kustomization.yaml': 'resources: [github.com/a/b]' }, /git/],
  ['a base of files', { 'a/kustomization.yaml': 'resources: ["file:///etc"]' }, /file:|git/],
  ['a folder above', { 'a/kustomization.yaml': 'resources: [../../../../../../../../etc]' }, /etc/],
  ['its folder by its own path', { 'a/kustomization.yaml': 'resources: [OUT]' }, /OUT|absolute|no such/],
  [
    'a file above',
    { 'a/kustomization.yaml': 'configMapGenerator: [{ name: b, files: [../../secret] }]' },
    /secret/,
  ],
  [
    'a file by a link',
    { 'a/kustomization.yaml': 'configMapGenerator: [{ name: b, files: [link] }]' },
    /link/,
  ],
  [
    'a patch by URL',
    { 'a/kustomization.yaml': 'patches: [{ path: "http://127.0.0.1:PORT/a.yaml" }]' },
    /127\.0\.0\.1/,
  ],
  [
    'a chart',
    { 'a/kustomization.yaml': 'helmCharts: [{ name: b, repo: "http://127.0.0.1:PORT", version: 1.0.0 }]' },
    /helm/,
  ],
  [
    'a function that runs a program',
    {
      'a/kustomization.yaml': 'transformers: [t.yaml]',
      'a/t.yaml':
        'apiVersion: v1\nkind: T\nmetadata: { name: t, annotations: { config.kubernetes.io/function: "exec: { path: ./x }" } }',
      'a/x': '#!/bin/sh\necho ran',
    },
    /plugin/,
  ],
  [
    'a plugin',
    {
      'a/kustomization.yaml': 'generators: [t.yaml]',
      'a/t.yaml': 'apiVersion: x/v1\nkind: T\nmetadata: { name: t }',
    },
    /plugin/,
  ],
  [
    'itself',
    { 'a/kustomization.yaml': 'resources: [../b]', 'b/kustomization.yaml': 'resources: [../a]' },
    /cycle/,
  ],
];

test.for(OUTSIDE)('a kustomization does not have %s', async ([, texts, why], context) => {
  if (!isolates()) context.skip('users have no namespaces here');
  let asked = 0;
  const server = createServer(socket => {
    asked++;
    socket.end();
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const out = join(folder, 'out');
  write({
    secret: 'secret',
    'out/kustomization.yaml': 'resources: [s.yaml]',
    'out/s.yaml': deployment('secret'),
  });
  for (const [name, text] of Object.entries(texts))
    write({ [`in/${name}`]: text.replaceAll('PORT', `${port}`).replaceAll('OUT', out) });
  symlinkSync('../../secret', join(folder, 'in/a/link'));
  const rendered = new Renderer().renderKustomization(join(folder, 'in/a'), join(folder, 'in'));
  const { message } = (await rendered.catch(error => error).finally(() => server.close())) as Error;
  expect(message).toMatch(why);
  expect(message).toMatch(/^Error/);
  expect(asked).toBe(0);
});

test('a kustomization that doubles twenty-four times ends at a limit', async context => {
  if (!isolates()) context.skip('users have no namespaces here');
  const depth = 24;
  for (let i = 0; i < depth; i++)
    write({
      [`in/a${i}/kustomization.yaml`]: `namePrefix: x-\nresources: [../a${i + 1}, ../b${i + 1}]`,
      [`in/b${i}/kustomization.yaml`]: `namePrefix: y-\nresources: [../a${i + 1}, ../b${i + 1}]`,
    });
  for (const last of ['a', 'b'])
    write({
      [`in/${last}${depth}/kustomization.yaml`]: 'resources: [w.yaml]',
      [`in/${last}${depth}/w.yaml`]: deployment(last),
    });
  const limits = { seconds: 3, allSeconds: 9, bytes: 1_000_000, files: 9 };
  const rendered = new Renderer(limits).renderKustomization(join(folder, 'in/a0'), join(folder, 'in'));
  await expect(rendered).rejects.toThrow(/more than|memory|killed|exit code/);
});

test('a chart that makes a text without end ends at a limit, of memory or of what it may print', async context => {
  if (!isolates()) context.skip('users have no namespaces here');
  const render = (template: string) => {
    write({ 'a/Chart.yaml': 'apiVersion: v2\nname: a\nversion: 1.0.0\n', 'a/templates/a.yaml': template });
    const limits = { seconds: 30, allSeconds: 60, bytes: 1_000_000, files: 9 };
    return new Renderer(limits).renderChart(join(folder, 'a'));
  };
  await expect(render('{{ repeat 1000000000 "aaaaaaaaaa" }}')).rejects.toThrow(/memory/);
  await expect(render('a: {{ repeat 2000000 "a" }}')).rejects.toThrow(/prints more than/);
});
