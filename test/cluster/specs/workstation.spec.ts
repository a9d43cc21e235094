/**
 * Every command as somebody types it who is on no node, with the rights of an administrator and of a namespace's own people;
 * and nodes that do not answer. An answer is complete, or says what is missing, and its exit code agrees.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { call, create, type KubeObject, pathOf } from './support/api.ts';
import { command, kubectl, nodes, type Output, server, state, until } from './support/cluster.ts';
import { ADMIN, MAIN, typed } from './support/prompt.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents, PORT } from './support/site.ts';

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const GROUP = 'rbac.authorization.k8s.io';

let place: Shop;
let folder: string;
let tenant: readonly string[];
const made: KubeObject[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-workstation-'));
  place = await shop('workstation');
  const annotations = { 'sluice.dev/enforcement': 'audit' };
  await create({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'audited', namespace: place.namespace, annotations },
    spec: { podSelector: { matchLabels: { name: 'web' } }, policyTypes: ['Ingress'] },
  } as KubeObject);
  tenant = await kubeconfigOfTenant();
});

afterAll(async () => {
  for (const object of made) await call('DELETE', pathOf(object));
  rmSync(folder, { recursive: true });
});

/** A ServiceAccount with `view` in its namespace, and the role that is shipped for such people. */
async function kubeconfigOfTenant(): Promise<readonly string[]> {
  const { namespace } = place;
  const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace }];
  const roleRef = (name: string) => ({ apiGroup: GROUP, kind: 'ClusterRole', name });
  const shipped = parseAllDocuments(
    readFileSync(join(import.meta.dirname, '../../../daemonset/base/readers.yaml'), 'utf8'),
  ).map(document => document.toJS() as KubeObject);
  expect(shipped.map(({ metadata }) => metadata.name)).toEqual(['sluice-reader', 'sluice-tenant']);
  const own = { metadata: { name: `${namespace}-tenant` } };
  for (const object of [
    { ...RBAC, kind: 'ClusterRoleBinding', ...own, roleRef: roleRef('sluice-tenant'), subjects },
    {
      ...RBAC,
      kind: 'RoleBinding',
      metadata: { name: 'view', namespace },
      roleRef: roleRef('view'),
      subjects,
    },
  ] as KubeObject[]) {
    await call('DELETE', pathOf(object));
    made.push(await create(object));
  }
  const token = (await kubectl('-n', namespace, 'create', 'token', 'default')).trim();
  const file = join(folder, 'tenant.json');
  const cluster = { server, 'certificate-authority': join(state, 'pki/ca.crt') };
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace } }],
      clusters: [{ name: 'k', cluster }],
      users: [{ name: 'u', user: { token } }],
    }),
  );
  return ['--kubeconfig', file];
}

const ask = (words: readonly string[], as: readonly string[] = ADMIN): Promise<Output> =>
  command(process.execPath, MAIN, ...words, ...as);

/** Every command that asks a cluster, and the exit code of an administrator's. */
function questions(): readonly (readonly [words: readonly string[], code: number])[] {
  const { namespace } = place;
  const [web, db, stranger] = [`${namespace}/web`, `${namespace}/db:${PORT}`, `${namespace}/stranger`];
  const flows = join(folder, 'a.test.yaml');
  writeFileSync(flows, `title: a\nflows: ["${web} -> ${db} allow", "${stranger} -> ${db} deny"]\n`);
  return [
    [['explain', web, db], 0],
    [['explain', stranger, db], 1],
    [['matrix', '-n', namespace], 0],
    [['coverage', '-n', namespace], 0],
    [['diff', '@cluster', '@cluster', '-n', namespace], 0],
    [['test', flows], 0],
    [['status'], 0],
    [['inspect', 'db', '-n', namespace], 0],
    [['trace', 'web', `db:${PORT}`, '-n', namespace], 0],
    [['drops', '-n', namespace], 0],
    [['flows', '-n', namespace, '--for', '1s'], 0],
    [['record', join(folder, 'all.rec'), '--for', '1s', '--force'], 0],
    [['audit', '-n', namespace], 0],
  ];
}

test('an administrator is answered by every command, and nothing is missing', async () => {
  for (const [words, wanted] of questions()) {
    const { code, stdout, stderr } = await ask(words);
    const said = `sluice ${words.join(' ')}: ${stdout}${stderr}`;
    expect(code, said).toBe(wanted);
    expect(stderr, said).not.toMatch(/missing|gave no answer|is away|may not/);
  }
});

test('people of a namespace are sure of what is within it; of nodes they are told which right is missing', async () => {
  const within = await until('the roles are known', async () => {
    const said = await ask(['explain', 'web', `db:${PORT}`], tenant);
    return said.code === 0 ? said : undefined;
  });
  expect(within.stdout).toMatch(/^allow /);
  expect(within.stderr.match(/^note: you/gm)).toHaveLength(1);
  expect((await ask(['explain', 'stranger', `db:${PORT}`], tenant)).code).toBe(1);
  const beyond = await ask(['explain', 'web', '10.96.0.1:443'], tenant);
  expect([beyond.code, beyond.stdout]).toEqual([2, expect.stringMatching(/^undecided /)]);
  for (const [words] of questions().filter(([[name]]) => OF_NODES.includes(name!))) {
    const { code, stdout, stderr } = await ask(words, tenant);
    const said = `sluice ${words.join(' ')}: ${stdout}${stderr}`;
    expect([code, stdout], said).toEqual([2, '']);
    expect(stderr.replaceAll(/\s+/g, ' '), said).toContain(
      'the right to list pods in namespace sluice is missing',
    );
  }
  const matrix = await ask(['matrix', '-n', place.namespace], tenant);
  expect([matrix.code, matrix.stdout]).toEqual([
    2,
    expect.stringContaining('Whatever is not listed is denied'),
  ]);
  expect(matrix.stdout).toMatch(/any other pod.*: undecided/);
  for (const [words, wanted] of questions().filter(([[name]]) => WITHIN.includes(name!)))
    expect((await ask(words, tenant)).code, words.join(' ')).toBe(wanted);
});

/** All that these ask is within the namespace. */
const WITHIN = ['coverage', 'diff', 'test'];
const OF_NODES = ['status', 'inspect', 'trace', 'drops', 'flows', 'record', 'audit'];

test('an agent that is stopped by a signal is named by all, and answers again when it goes on', async () => {
  const { db, web, namespace } = place;
  const { pid } = (await agents()).get(db.node)!;
  const drops = typed(['drops', '--follow', '-n', namespace]);
  const isSaid = (what: string) =>
    until(what, async () => drops.said.notes.includes(what) || undefined, 90_000);
  process.kill(pid, 'SIGSTOP');
  try {
    const status = await ask(['status']);
    expect(status.code, status.stdout).toBe(2);
    expect(status.stdout).toMatch(new RegExp(`^${db.node} +away +`, 'm'));
    expect(status.stdout).toMatch(new RegExp(`^${web.node} +ready +`, 'm'));
    for (const words of [['drops'], ['inspect', 'db', '-n', namespace], ['audit', '-n', namespace]]) {
      const { code, stdout, stderr } = await ask(words);
      expect([code, stderr], `${words.join(' ')}: ${stdout}`).toEqual([2, expect.stringContaining(db.node)]);
    }
    await isSaid(`node ${db.node} is away`);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await isSaid(`node ${db.node} is back`);
  await until('it answers again', async () => ((await ask(['status'])).code === 0 ? true : undefined));
  await drops.end();
});

test('fifty nodes without a running agent are named beside those that answer', async () => {
  const simulated = Array.from({ length: 50 }, (_, n) => ({
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: `simulated-${n}` },
    spec: { taints: [{ key: 'simulated', effect: 'NoSchedule' }] },
  })) as KubeObject[];
  try {
    for (const node of simulated) await create(node);
    const status = await ask(['status']);
    expect(status.code, status.stderr).toBe(2);
    expect(status.stdout.match(/^simulated-\d+ +away +/gm)).toHaveLength(50);
    expect(status.stdout.match(/^node\d+ +ready +/gm)).toHaveLength(nodes.length);
    const drops = await ask(['drops', '-o', 'json']);
    expect([drops.code, drops.stderr]).toEqual([2, expect.stringContaining('simulated-')]);
    const file = join(folder, 'part.rec');
    const record = await ask(['record', file, '--for', '1s', '--force']);
    expect([record.code, readFileSync(file, 'utf8')]).toEqual([2, expect.stringContaining('simulated-49')]);
    const one = await ask(['status', '--node', 'simulated-0']);
    expect([one.code, one.stdout]).toEqual([2, '']);
  } finally {
    for (const node of simulated) await call('DELETE', pathOf(node));
  }
  await until('their agents are gone', async () =>
    (await agents()).size === nodes.length ? true : undefined,
  );
});
