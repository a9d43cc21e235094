/** Questions to a real API server by people who may not read all: each right missing, one at a time, and most of them. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { until } from '../../support/until.ts';
import { SERVER } from './controlplane.ts';
import {
  adminPolicy,
  baselinePolicy,
  clusterPolicy,
  definition,
  namespace,
  networkPolicy,
} from './objects.ts';
import { Storm } from './storm.ts';

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');
const GROUP = 'policy.networking.k8s.io';
const RBAC = 'rbac.authorization.k8s.io/v1';
const USER = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'asker', namespace: 'asked' } };

/** Group, plural, whether it holds policies, and what the answer lacks. */
const RIGHTS: readonly (readonly [group: string, plural: string, hides: boolean, effect: string])[] = [
  ['', 'pods', false, 'the others are not known: their addresses are judged as those of no pod'],
  ['', 'namespaces', false, 'a rule that selects namespaces by label allows nothing, and may deny'],
  ['', 'nodes', false, 'rules about nodes match nothing'],
  ['networking.k8s.io', 'networkpolicies', true, 'what follows is no verdict'],
  [GROUP, 'clusternetworkpolicies', true, 'what follows is no verdict'],
  [GROUP, 'adminnetworkpolicies', true, 'what follows is no verdict'],
  [GROUP, 'baselineadminnetworkpolicies', true, 'what follows is no verdict'],
  ['apps', 'deployments', false, 'cannot be asked about by name'],
  ['apps', 'statefulsets', false, 'cannot be asked about by name'],
  ['apps', 'daemonsets', false, 'cannot be asked about by name'],
  ['apps', 'replicasets', false, 'cannot be asked about by name'],
  ['', 'replicationcontrollers', false, 'cannot be asked about by name'],
  ['batch', 'jobs', false, 'cannot be asked about by name'],
  ['batch', 'cronjobs', false, 'cannot be asked about by name'],
  ['', 'services', false, 'an address may be that of a Service, which could not be looked up'],
  ['discovery.k8s.io', 'endpointslices', false, "a Service's endpoints are taken from its selector"],
];

let storm: Storm;
let token: string;

beforeAll(async () => {
  storm = await Storm.begin();
  for (const plural of RIGHTS.filter(([group]) => group === GROUP).map(([, plural]) => plural)) {
    await storm.api.apply(definition(plural));
    await storm.api.established(definition(plural));
  }
  await storm.api.apply(namespace('asked', { team: 'a' }));
  await storm.api.apply(USER);
  await storm.api.apply(deployment('web'));
  await storm.api.apply(
    networkPolicy('asked/web', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] }),
  );
  await storm.api.apply(
    clusterPolicy('c', { tier: 'Admin', priority: 1, subject: NOBODY, ingress: [ACCEPT] }),
  );
  await storm.api.apply(adminPolicy('a', { priority: 1, subject: NOBODY, ingress: [ALLOW] }));
  await storm.api.apply(baselinePolicy({ subject: NOBODY, ingress: [ALLOW] }));
  const path = '/api/v1/namespaces/asked/serviceaccounts/asker/token';
  const { body } = await storm.api.try('POST', path, { spec: { expirationSeconds: 7200 } });
  token = (body as { status: { token: string } }).status.token;
});

afterAll(() => storm?.end());

const NOBODY = { namespaces: { matchLabels: { team: 'none' } } };
const ACCEPT = { action: 'Accept', from: [{ namespaces: {} }] };
const ALLOW = { action: 'Allow', from: [{ namespaces: {} }] };

function deployment(name: string) {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } };
  const metadata = { name, namespace: 'asked' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { selector: { matchLabels: labels }, template },
  };
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function sluice(words: readonly string[], as = token): Promise<Said> {
  const file = join(storm.plane.folder, 'asker.json');
  const cluster = {
    server: `https://${SERVER.address}:${SERVER.port}`,
    'certificate-authority': join(storm.plane.folder, 'pki/ca.crt'),
  };
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'asked' } }],
      clusters: [{ name: 'k', cluster }],
      users: [{ name: 'u', user: { token: as } }],
    }),
  );
  try {
    return { code: 0, ...(await run(process.execPath, [MAIN, ...words, '--kubeconfig', file])) };
  } catch (error) {
    const { code, stdout, stderr } = error as Said;
    return { code, stdout, stderr };
  }
}

const ruleOf = (group: string, plural: string) => ({
  apiGroups: [group],
  resources: [plural],
  verbs: ['list'],
});
const subjects = [{ kind: 'ServiceAccount', name: 'asker', namespace: 'asked' }];

/** Rights to list these in the whole cluster, and those in the caller's own namespace. */
async function may(all: readonly object[], own: readonly object[] = []): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const cluster = { name: 'asker' };
  const here = { name: 'asker', namespace: 'asked' };
  for (const object of [
    { apiVersion: RBAC, kind: 'ClusterRole', metadata: cluster, rules: all },
    {
      apiVersion: RBAC,
      kind: 'ClusterRoleBinding',
      metadata: cluster,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'asker' },
      subjects,
    },
    { apiVersion: RBAC, kind: 'Role', metadata: here, rules: own },
    {
      apiVersion: RBAC,
      kind: 'RoleBinding',
      metadata: here,
      roleRef: { apiGroup: group, kind: 'Role', name: 'asker' },
      subjects,
    },
  ])
    await storm.api.apply(object);
}

const QUESTION = ['explain', 'deploy/web', '10.96.0.99:80', '-o', 'json'];

/** What the last answer lacks. The authorizer hears of a change a moment later. */
async function lackingJust(plurals: readonly string[]): Promise<Said> {
  let said: Said | undefined;
  const asked = async () => {
    said = await sluice(QUESTION);
    const lists = said.stderr.replaceAll(/\s+/g, ' ').matchAll(/may not list (.*?)(?: \(User |: )/g);
    const lacks = [...lists].flatMap(([, list]) => list!.match(/(?<=^|, )\w+(?= \(but|,|$)/g) ?? []);
    return String([...new Set(lacks)].sort()) === String(plurals.toSorted());
  };
  await until(`the answer lacks ${plurals}`, asked).catch(error => {
    throw new Error(`${error.message}: ${JSON.stringify(said)}`);
  });
  return said!;
}

test('who may list all is told no lack', async () => {
  await may(RIGHTS.map(([group, plural]) => ruleOf(group, plural)));
  const { stdout, stderr } = await lackingJust([]);
  expect([JSON.parse(stdout).notes.filter((note: string) => note.includes('may not')), stderr]).toEqual([
    [],
    '',
  ]);
});

/** The rules of a role that is shipped for people who ask. */
function shipped(name: string): readonly object[] {
  const file = join(import.meta.dirname, '../../../daemonset/base/readers.yaml');
  const roles = parseAllDocuments(readFileSync(file, 'utf8')).map(document => document.toJS());
  return roles.find(({ metadata }) => metadata.name === name).rules;
}

test('who has sluice-reader is told no lack', async () => {
  await may(shipped('sluice-reader'));
  const { stderr } = await lackingJust([]);
  expect(stderr).toBe('');
});

test('who has sluice-tenant, and may view a namespace, is sure of what is within it and of nothing else', async () => {
  const views = ['pods', 'networkpolicies', 'deployments', 'statefulsets', 'daemonsets', 'replicasets'];
  const others = ['replicationcontrollers', 'jobs', 'cronjobs', 'services', 'endpointslices'];
  const own = RIGHTS.filter(([, plural]) => [...views, ...others].includes(plural));
  await may(
    shipped('sluice-tenant'),
    own.map(([group, plural]) => ruleOf(group, plural)),
  );
  await lackingJust([...views, ...others]);
  const ask = (to: string) => sluice(['explain', 'deploy/web', to, '-o', 'json']);
  const within = await ask('app=web:80');
  expect([within.code, JSON.parse(within.stdout).verdict]).toEqual([0, 'allow']);
  expect(within.stderr.match(/^note: you/gm)).toHaveLength(1);
  expect((await ask('203.0.113.7:443')).code).toBe(0);
  const beyond = await ask('other/app=db:80');
  expect([beyond.code, JSON.parse(beyond.stdout).verdict]).toEqual([2, 'undecided']);
});

test.each(RIGHTS)('without the right to list %s %s', async (_, missing, hides, effect) => {
  await may(
    RIGHTS.filter(([, plural]) => plural !== missing).map(([group, plural]) => ruleOf(group, plural)),
  );
  const { code, stdout, stderr } = await lackingJust([missing]);
  expect(stderr).toMatch(
    /^note: you may not list \w+ \(User "system:serviceaccount:asked:asker" cannot list/,
  );
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(effect);
  if (missing === 'deployments')
    return expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('whether there is a Deployment asked/web is not known'),
    ]);
  const said = JSON.parse(stdout);
  expect(said.notes).toEqual(
    expect.arrayContaining([expect.stringContaining(`you may not list ${missing}`)]),
  );
  if (hides) expect([code, said.verdict]).toEqual([2, 'undecided']);
  const matrix = await sluice(['matrix', '-o', 'json']);
  expect(matrix.code).toBe(hides ? 2 : 0);
  const concerns = !['services', 'endpointslices'].includes(missing);
  expect(JSON.parse(matrix.stdout).notes.some((note: string) => note.includes(missing))).toBe(concerns);
  const test = join(storm.plane.folder, 'a.test.yaml');
  writeFileSync(test, 'title: a\nflows: [internet -> deploy/web:80 allow]\n');
  const tested = await sluice(['test', test]);
  expect(tested.code, tested.stdout).toBe(hides ? 2 : 0);
  if (hides)
    expect((await sluice(['diff', '@cluster', '@cluster'])).stderr).toContain('not all policies can be read');
});

test('who may read only a namespace is answered from it, and told so', async () => {
  const own = ['pods', 'networkpolicies', 'deployments'];
  const inGroup = (plurals: readonly string[]) => RIGHTS.filter(([, plural]) => plurals.includes(plural));
  await may(
    [],
    inGroup(own).map(([group, plural]) => ruleOf(group, plural)),
  );
  const { code, stderr, stdout } = await lackingJust(RIGHTS.map(([, plural]) => plural));
  const said = stderr.replaceAll(/\s+/g, ' ');
  expect(said).toContain('note: you (system:serviceaccount:asked:asker) may not list ');
  for (const plural of own) expect(said).toContain(`${plural} (but in asked)`);
  expect([code, JSON.parse(stdout).verdict]).toEqual([2, 'undecided']);
});

test('whom the server does not know is told that', async () => {
  const { code, stdout, stderr } = await sluice(QUESTION, 'nonsense');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^sluice: the API server does not know you: .*401/);
});
