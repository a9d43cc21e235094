/** `sluice suggest --manifests`: policies for an application that nobody has seen run. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { recordingOf } from '../../test/support/recorded.ts';
import { type Address, parseAddress } from '../model/address.ts';
import { recordingLines } from '../observe/recording/write.ts';

let folder: string;

const namespace = (name: string) => `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name} } }`;
const deployment = (name: string, container: string, where = 'shop') =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: ${where} }, spec: { selector: { matchLabels: { app: ${name} } }, template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: c, ${container} }] } } } }`;
const service = (name: string, port: number, where = 'shop') =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: ${where} }, spec: { selector: { app: ${name} }, ports: [{ port: ${port}, targetPort: 8080 }] } }`;
const closed =
  '{ apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: { name: closed }, spec: { priority: 1, subject: { namespaces: {} }, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] } }';

const SHOP = [
  namespace('shop'),
  namespace('data'),
  deployment(
    'web',
    'env: [{ name: URL, value: "http://user:hunter2@api" }, { name: DB, value: "db.data.svc:5432" }, { name: PAY, value: "https://api.example.com/?token=hunter2" }]',
  ),
  deployment('api', 'ports: [{ containerPort: 8080 }]'),
  service('api', 80),
  deployment('db', 'ports: [{ containerPort: 8080 }]', 'data'),
  service('db', 5432, 'data'),
];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-guess-'));
  writeFileSync(join(folder, 'shop.yaml'), SHOP.join('\n---\n'));
  writeFileSync(join(folder, 'closed.yaml'), closed);
  writeFileSync(join(folder, 'system.yaml'), deployment('proxy', 'args: []', 'kube-system'));
  writeFileSync(join(folder, 'none.yaml'), namespace('shop'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sluice(words: readonly string[], input = '') {
  const env = { ...process.env, NO_COLOR: '1' };
  const main = join(import.meta.dirname, 'main.ts');
  return spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', cwd: folder, env, input });
}

const namesIn = (yaml: string) =>
  parseAllDocuments(yaml).flatMap(each => {
    const { metadata } = (each.toJS() ?? {}) as { metadata?: { namespace: string; name: string } };
    return metadata === undefined ? [] : [`${metadata.namespace}/${metadata.name}`];
  });

test('an application gets policies that check has no complaint of, with a reason at each rule and no secret', () => {
  const { stdout, stderr, status } = sluice(['suggest', '--manifests', 'shop.yaml']);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(namesIn(stdout)).toEqual([
    'data/suggested-default-deny',
    'data/suggested-dns',
    'data/allow-db',
    'shop/suggested-default-deny',
    'shop/suggested-dns',
    'shop/allow-web',
    'shop/allow-api',
  ]);
  expect(stdout).toContain('for 2 connections that the manifests name: guessed, not seen');
  expect(stdout).toContain(
    '# Not guessed:\n#   api.example.com is outside of the cluster\n#     Deployment shop/web containers[0].env[2] (PAY)\n',
  );
  expect(
    stdout.match(
      /^ {4}# guessed: Deployment shop\/web spec\.template\.spec\.containers\[0\]\.env\[\d\] \(\w+\)\n {4}- (?:from|to):$/gm,
    ),
  ).toHaveLength(4);
  expect(stdout).not.toContain('hunter2');
  const checked = sluice(['check', '--strict', 'shop.yaml', '-'], stdout);
  expect([checked.stdout, checked.status]).toEqual([expect.stringMatching(/^ok\b|^0 errors, 0 warnings/), 0]);
});

test('workloads that nothing was found for are named, some ten of them, and nothing at all is a warning', () => {
  const nothing = (names: readonly string[]) => names.map(name => deployment(name, 'args: []', 'idle'));
  const some = sluice(['suggest', '--manifests', '-'], [...SHOP, ...nothing(['idle'])].join('\n---\n'));
  expect(some.stdout).toContain(
    '\n# Nothing was found for: Deployment idle/idle; what they need is denied until you add it.\n',
  );
  expect(some.stderr).not.toContain('warning');
  const names = Array.from({ length: 12 }, (_, at) => `w${at}`);
  const all = sluice(['suggest', '--manifests', '-'], nothing(names).join('\n---\n'));
  expect(all.stdout).toMatch(
    /# Nothing was found for: (?:Deployment idle\/w\d, ){9}Deployment idle\/w9 and 2 more; /,
  );
  expect(all.stderr).toContain('warning: no connection was found in the manifests: ');
});

test('who has no label of its own is left as it is, and not said to be denied', () => {
  const bare =
    '{ apiVersion: v1, kind: Pod, metadata: { name: bare, namespace: shop }, spec: { containers: [] } }';
  const { stdout } = sluice(['suggest', '--manifests', '-'], [...SHOP, bare].join('\n---\n'));
  expect(stdout).toContain('they would cut off Pod shop/bare');
  expect(stdout).not.toContain('Nothing was found');
});

test('-n has the policies of one namespace, and what others name of it', () => {
  const { stdout } = sluice(['suggest', '--manifests', 'shop.yaml', '-n', 'data']);
  expect(namesIn(stdout)).toEqual(['data/suggested-default-deny', 'data/suggested-dns', 'data/allow-db']);
  expect(stdout).toContain('for 1 connection ');
});

test('what other policies deny is a comment, and the exit code 1; --without leaves them out', () => {
  const asked = ['suggest', '--manifests', 'shop.yaml', '--manifests', 'closed.yaml'];
  const { stdout, status } = sluice(asked);
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /# Still not allowed:\n# {3}shop\/deploy\/web -> shop\/deploy\/api:8080\/TCP: AdminNetworkPolicy closed /,
  );
  expect(stdout).toContain('\n# Policies of the manifests that stay in force beside these: 1. ');
  const left = sluice([...asked, '--without', 'anp:closed']);
  expect(left.stdout).not.toContain('in force beside these');
  expect([left.status, left.stdout]).toEqual([0, expect.not.stringContaining('Still not allowed')]);
});

test('the namespace of the system is left alone, unless it is asked for', () => {
  expect(
    namesIn(sluice(['suggest', '--manifests', 'shop.yaml', '--manifests', 'system.yaml']).stdout),
  ).not.toContain('kube-system/suggested-default-deny');
  const { stdout } = sluice(['suggest', '--manifests', 'system.yaml', '-n', 'kube-system']);
  expect(namesIn(stdout)).toContain('kube-system/suggested-default-deny');
});

test.each([
  [[], 'name --recorded FILE or --manifests PATH'],
  [['--recorded', 'x.rec'], 'a recording needs -n NAMESPACE'],
  [['--recorded', 'x.rec', '--manifests', 'shop.yaml'], 'cannot be used with'],
  [['--manifests', 'none.yaml'], 'there is no pod and no workload in the manifests that policy could select'],
  [
    ['--manifests', 'shop.yaml', '-n', 'shp'],
    'there is no namespace shp in the manifests; did you mean shop?',
  ],
  [['--manifests', 'shop.yaml', '--without', 'shop/x'], 'there is no policy shop/x in the manifests'],
  [['--manifests', 'shop.yaml', '--api-server', 'x'], '"x" is no endpoint of the API server'],
])('suggest %j is refused: %s', (words, message) => {
  const { status, stdout, stderr } = sluice(['suggest', ...words]);
  expect(stderr).toContain(message);
  expect([status, stdout]).toEqual([2, '']);
});

test('a name cannot end a comment and begin a rule of its own', () => {
  const bad = 'X\n---\nkind: Evil\u2028\x1b[2J';
  const web = {
    name: 'c',
    env: [
      { name: bad, value: 'http://api' },
      { name: `${bad}2`, value: 'http://gone' },
    ],
  };
  const objects = [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
      spec: { containers: [web] },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'api', namespace: 'shop', labels: { app: 'api' } },
      spec: { containers: [] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'api', namespace: 'shop' },
      spec: { selector: { app: 'api' }, ports: [{ port: 80 }] },
    },
  ];
  const { stdout, stderr } = sluice(
    ['suggest', '--manifests', '-'],
    objects.map(each => JSON.stringify(each)).join('\n---\n'),
  );
  expect(namesIn(stdout)).toContain('shop/allow-web');
  expect(stdout).not.toMatch(/^kind: Evil/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\u2028]/);
  expect(parseAllDocuments(stdout).filter(({ errors }) => errors.length > 0)).toEqual([]);
});

test('labels that no API server takes are no policy, and a comment says so', () => {
  const bad = deployment('api', 'args: []').replace('labels: { app: api }', 'labels: { app: "no value!" }');
  const { stdout, stderr, status } = sluice(
    ['suggest', '--manifests', '-'],
    [
      namespace('shop'),
      bad.replace('selector: { matchLabels: { app: api } }, ', ''),
      service('api', 80).replace('app: api', 'app: "no value!"').replace('ports', 'type: NodePort, ports'),
    ].join('\n---\n'),
  );
  expect(status).toBeLessThan(3);
  expect([stdout, namesIn(stdout)]).toEqual(['', []]);
  expect(stderr).toMatch(/policy could select: Deployment shop\/api: .*"no value!"/);
});

test('of a recording the API server has a comment too, where --api-server says its address', () => {
  const { cluster } = clusterView(
    '{ apiVersion: v1, kind: Pod, metadata: { name: op, namespace: shop, labels: { app: op } }, spec: { containers: [] }, status: { podIP: 10.244.0.5 } }',
  );
  const [from, to] = ['10.244.0.5', '172.18.0.2'].map(text => parseAddress(text)!) as [Address, Address];
  const flow = { from, to, protocol: 'TCP', port: 6443 } as const;
  writeFileSync(
    join(folder, 'op.rec'),
    `${[...recordingLines(recordingOf(cluster, 'allow', [flow]))].join('\n')}\n`,
  );
  const asked = ['suggest', '-n', 'shop', '--recorded', 'op.rec'];
  const remark = 'cidr: 172.18.0.2/32 # an endpoint of Service default/kubernetes, the API server\n';
  expect(sluice([...asked, '--api-server', '172.18.0.2:6443']).stdout).toContain(remark);
  expect(sluice(asked).stdout).toContain('cidr: 172.18.0.2/32\n');
});
