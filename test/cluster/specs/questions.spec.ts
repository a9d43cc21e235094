/** What `sluice explain` says of a live cluster is what connections meet; and what it lacks where a right is missing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, create, nodeAddress, pathOf } from './support/api.ts';
import { command, families, kubectl, type Output, proxy, server, state } from './support/cluster.ts';
import { connection, endpoint, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');
const NODE_PORT = 30090;

/** On this machine, as people ask: by a kubeconfig, and nothing of the nodes. */
function explain(kubeconfig: string, ...words: string[]): Promise<Output> {
  return command(process.execPath, MAIN, 'explain', ...words, '--kubeconfig', kubeconfig);
}

async function verdict(from: string, to: string): Promise<string> {
  const { stdout, stderr } = await explain(join(state, 'pki/admin.conf'), from, to, '-o', 'json');
  expect(stderr).toBe('');
  return JSON.parse(stdout).verdict;
}

let place: Site;
let friend: RunningPod;
let stranger: RunningPod;

beforeAll(async () => {
  place = await site('questions');
  const { pod, policy, service } = place;
  const ports = [{ name: 'http', containerPort: PORT }];
  await pod('web', { node: 'node1', container: { ports } });
  friend = await pod('friend', { node: 'node2', labels: { may: 'enter' } });
  stranger = await pod('stranger', { node: 'node2' });
  await policy('web', {
    podSelector: { matchLabels: { name: 'web' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { may: 'enter' } } }], ports: [{ port: PORT }] }],
  });
  const both = { ipFamilyPolicy: 'PreferDualStack' };
  const selector = { name: 'web' };
  await service('plain', { ...both, selector, ports: [{ port: 80, targetPort: PORT }] });
  await service('named', { ...both, selector, ports: [{ name: 'x', port: 81, targetPort: 'http' }] });
  await service('other', { ...both, selector, ports: [{ port: 80, targetPort: 9 }] });
  await service('headless', { ...both, clusterIP: 'None', selector, ports: [{ port: PORT }] });
  await service('nobody', { ...both, selector: { name: 'nobody' }, ports: [{ port: 80 }] });
  await service('port', {
    ...both,
    type: 'NodePort',
    selector,
    ports: [{ port: 80, targetPort: PORT, nodePort: NODE_PORT }],
  });
  await service('alias', {
    type: 'ExternalName',
    externalName: `plain.${place.namespace}.svc.cluster.local`,
  });
  expect(await settles(stranger, `${await webAddress()}`, 'closed')).toBe('closed');
  expect(await settles(friend, `${await webAddress()}`, 'open')).toBe('open');
});

async function webAddress(): Promise<string> {
  const address = await kubectl('-n', place.namespace, 'get', 'pod', 'web', '-o', 'jsonpath={.status.podIP}');
  return endpoint(address);
}

async function clusterIps(name: string): Promise<string[]> {
  const text = await kubectl(
    '-n',
    place.namespace,
    'get',
    'service',
    name,
    '-o',
    'jsonpath={.spec.clusterIPs[*]}',
  );
  return text.trim().split(' ');
}

const MEANS = { allow: 'open', deny: 'closed' } as const;

describe.each([
  ['plain', 80],
  ['named', 81],
] as const)('a Service %s', (name, port) => {
  test('answers by name and by each of its addresses as connections do', async () => {
    for (const from of [friend, stranger]) {
      const end = `${place.namespace}/${from.name}`;
      const said = await verdict(end, `${place.namespace}/svc/${name}:${port}`);
      expect(said).toBe(from === friend ? 'allow' : 'deny');
      if (proxy === 'none') continue;
      for (const address of await clusterIps(name)) {
        const byAddress = await verdict(end, endpoint(address, port));
        expect(byAddress).toBe(said);
        expect(await connection(from, endpoint(address, port))).toBe(MEANS[said as 'allow']);
      }
    }
  });
});

test('a Service whose target is another port is denied there, whoever dials it', async () => {
  expect(await verdict(`${place.namespace}/friend`, `${place.namespace}/svc/other:80`)).toBe('deny');
  if (proxy === 'none') return;
  const [address] = await clusterIps('other');
  expect(await connection(friend, endpoint(address!, 80))).toBe('closed');
});

test('a headless Service leads to its pods themselves', async () => {
  const { namespace } = place;
  expect(await verdict(`${namespace}/friend`, `${namespace}/svc/headless:${PORT}`)).toBe('allow');
  expect(await verdict(`${namespace}/stranger`, `${namespace}/svc/headless:${PORT}`)).toBe('deny');
  expect(await connection(friend, await webAddress())).toBe('open');
  expect(await connection(stranger, await webAddress())).toBe('closed');
});

test('another name of a Service leads where that leads', async () => {
  const { namespace } = place;
  expect(await verdict(`${namespace}/friend`, `${namespace}/svc/alias:80`)).toBe('allow');
  expect(await verdict(`${namespace}/stranger`, `${namespace}/svc/alias:80`)).toBe('deny');
});

test('a Service without endpoints is no verdict, and nobody answers there', async () => {
  const { namespace } = place;
  expect(await verdict(`${namespace}/friend`, `${namespace}/svc/nobody:80`)).toBe('undecided');
  if (proxy === 'none') return;
  const [address] = await clusterIps('nobody');
  expect(await connection(friend, endpoint(address!, 80))).not.toBe('open');
});

test('a node port is the pod behind it, and never said to be open where it is closed', async () => {
  const said = await verdict(`${place.namespace}/stranger`, `node/node1:${NODE_PORT}`);
  expect(said).toBe('deny');
  if (proxy === 'none') return;
  expect(await connection(stranger, endpoint(await nodeAddress('node1'), NODE_PORT))).toBe('closed');
});

test('both families are judged', async () => {
  const { namespace } = place;
  const { stdout } = await explain(
    join(state, 'pki/admin.conf'),
    `${namespace}/friend`,
    `${namespace}/web:${PORT}`,
    '-o',
    'json',
  );
  expect(Object.keys(JSON.parse(stdout).families)).toHaveLength(families.length);
});

const RIGHTS: readonly (readonly [group: string, resource: string])[] = [
  ['', 'pods'],
  ['', 'namespaces'],
  ['', 'nodes'],
  ['', 'services'],
  ['', 'replicationcontrollers'],
  ['networking.k8s.io', 'networkpolicies'],
  ['discovery.k8s.io', 'endpointslices'],
  ['apps', 'deployments'],
  ['apps', 'statefulsets'],
  ['apps', 'daemonsets'],
  ['apps', 'replicasets'],
  ['batch', 'jobs'],
  ['batch', 'cronjobs'],
  ['policy.networking.k8s.io', '*'],
];

describe('a caller who may list all but', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-rights-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    for (const kind of ['ClusterRole', 'ClusterRoleBinding'])
      await call('DELETE', pathOf({ ...RBAC, kind, metadata: { name: 'own-questions' } }));
  });
  const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' };

  /** A kubeconfig of the namespace's ServiceAccount, which may list everything but one kind. */
  async function without(missing: string): Promise<string> {
    const { namespace } = place;
    const rules = RIGHTS.filter(([, resource]) => resource !== missing).map(([group, resource]) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: ['list'],
    }));
    const metadata = { name: 'own-questions' };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'own-questions' };
    const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace }];
    for (const object of [
      { ...RBAC, kind: 'ClusterRole', metadata, rules },
      { ...RBAC, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
    ]) {
      await call('DELETE', pathOf(object));
      await create(object);
    }
    const token = (await kubectl('-n', namespace, 'create', 'token', 'default')).trim();
    const file = join(folder, `${missing}.json`);
    const cluster = { server, 'certificate-authority': join(state, 'pki/ca.crt') };
    const config = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      clusters: [{ name: 'k', cluster }],
      users: [{ name: 'u', user: { token } }],
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  test.each(RIGHTS.filter(([, resource]) => resource !== '*'))(
    '%s %s is told so, and what the answer lacks',
    async (_, resource) => {
      const { namespace } = place;
      const config = await without(resource);
      const ends = [`${namespace}/app=x`, `${namespace}/svc/plain:80`];
      const asked =
        /^(deployments|statefulsets|daemonsets|replicasets|replicationcontrollers|jobs|cronjobs)$/.test(
          resource,
        )
          ? [`${namespace}/deploy/x`, `${namespace}/friend:80`]
          : ends;
      let answer: Output | undefined;
      for (let tries = 0; tries < 50; tries++) {
        answer = await explain(config, ...asked);
        if (answer.stderr.includes(`you may not list ${resource}`)) break;
      }
      expect(answer!.stderr).toContain(`you may not list ${resource}`);
      if (resource === 'networkpolicies')
        expect([answer!.code, answer!.stdout]).toEqual([2, expect.stringMatching(/^undecided/)]);
    },
  );
});
