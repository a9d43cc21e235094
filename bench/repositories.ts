/** How long `sluice check` takes for the root of a repository, most of which is not about policy. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { builtFolder } from './build.ts';
import { costOf } from './explain.ts';
import { absolute, type BenchRow } from './row.ts';
import { times } from './times.ts';

export function benchRepositories(): BenchRow[] {
  const program = join(builtFolder(), 'sluice.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const [operators, monorepo, apps] = ['operators', 'monorepo', 'apps'].map(name => join(folder, name));
    writeOperators(operators!);
    writeMonorepo(monorepo!);
    const folders = times(FOLDERS, i => join(apps!, `${i}`));
    for (const [i, each] of folders.entries()) write(each, 'app.yaml', manifest(i));
    const cost = (...paths: string[]) => costOf(program, ['check', ...paths]).cpu;
    return [
      absolute('check of 500 manifests and 3 MB of CustomResourceDefinitions', 's', cost(operators!), 1),
      absolute('check of 10,000 files, of which 200 are manifests', 's', cost(monorepo!), 1.5),
      absolute('check of one small folder', 's', cost(folders[0]!), 0.4),
      absolute(`check --each of ${FOLDERS} small folders`, 's', cost('--each', ...folders), 2.5),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const FOLDERS = 305;

function writeOperators(root: string): void {
  const definition = stringify(crd());
  const count = Math.ceil(3_000_000 / definition.length);
  for (const i of times(count, Number))
    write(root, `crds/${i}.yaml`, definition.replaceAll('widgets', `widgets${i}`));
  for (const i of times(500, Number)) write(root, `apps/${i}/app.yaml`, manifest(i));
}

/** A fifth are of formats that manifests have too. */
function writeMonorepo(root: string): void {
  for (const i of times(200, Number)) write(root, `deploy/${i}/app.yaml`, manifest(i));
  for (const i of times(800, Number)) write(root, `packages/${i}/package.json`, packageJson(i));
  for (const i of times(1_000, Number)) write(root, `services/${i}/values.yaml`, values(i));
  for (const i of times(8_000, Number))
    write(root, `services/${i % 1_000}/src/file${i}.ts`, `export const a = ${i};\n`);
}

function write(root: string, path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A definition with as many fields, and as long texts, as those of operators have: 200 kB. */
function crd(): object {
  const text =
    'The desired state of the widget: "what its author asks for", which a controller makes so.\nMore is said in the documentation of the type: https://example.org/docs#widgets.';
  const leaf = { type: 'string', description: text, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$' };
  const level = (depth: number): object =>
    depth === 0
      ? leaf
      : {
          type: 'object',
          description: text,
          properties: Object.fromEntries(times(8, i => [`field${i}`, level(depth - 1)])),
        };
  const names = { kind: 'Widget', plural: 'widgets', singular: 'widget' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.org' },
    spec: {
      group: 'example.org',
      names,
      scope: 'Namespaced',
      versions: [{ name: 'v1', schema: { openAPIV3Schema: level(3) } }],
    },
  };
}

function manifest(i: number): string {
  const metadata = { name: `app-${i}`, namespace: `team-${i % 20}`, labels: { app: `app-${i}` } };
  const matchLabels = { app: `app-${i}` };
  const container = {
    name: 'app',
    image: `example.org/app:${i}`,
    ports: [{ name: 'web', containerPort: 8080 }],
  };
  const template = { metadata: { labels: matchLabels }, spec: { containers: [container] } };
  const from = [{ podSelector: { matchLabels: { app: `app-${i + 20}` } } }];
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 2, selector: { matchLabels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { 'app.conf': 'listen 8080\nkind: none\n'.repeat(20) },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: { podSelector: { matchLabels }, ingress: [{ from, ports: [{ port: 'web' }] }] },
    },
  ]
    .map(object => stringify(object))
    .join('---\n');
}

function packageJson(i: number): string {
  const dependencies = Object.fromEntries(times(30, j => [`kind-of-${j}`, `^1.${i}.${j}`]));
  return JSON.stringify(
    { name: `package-${i}`, version: '1.0.0', scripts: { build: 'tsc' }, dependencies },
    null,
    2,
  );
}

function values(i: number): string {
  return stringify({
    replicaCount: i,
    image: { repository: 'example.org/app', tag: 'latest' },
    ingress: { enabled: false, metadata: { annotations: {} } },
    resources: times(20, j => ({ name: `r${j}`, limits: { cpu: '100m' } })),
  });
}
