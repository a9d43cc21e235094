/** `sluice explain` of a destination by name, as people type it, on an API server that speaks exec. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ExecServer, type Session } from '../../test/support/api/execserver.ts';

let server: ExecServer;
const GROUP = '/apis/policy.networking.k8s.io';

beforeEach(async () => {
  server = await new ExecServer().start();
  const labels = { 'kubernetes.io/metadata.name': 'shop' };
  server.list('/api/v1/namespaces', 'v1', 'Namespace', [{ metadata: { name: 'shop', labels } }]);
  server.list('/api/v1/pods', 'v1', 'Pod', [
    {
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
      spec: { nodeName: 'n2', containers: [] },
      status: { phase: 'Running', podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }] },
    },
  ]);
  server.answers.set(GROUP, { versions: [{ version: 'v1alpha2' }] });
  server.answers.set(`${GROUP}/v1alpha2`, { resources: [{ kind: 'ClusterNetworkPolicy' }] });
  const path = `${GROUP}/v1alpha2/clusternetworkpolicies`;
  server.list(path, 'policy.networking.k8s.io/v1alpha2', 'ClusterNetworkPolicy', [
    {
      metadata: { name: 'by-name' },
      spec: {
        ...{ tier: 'Admin', priority: 1, subject: { namespaces: {} } },
        egress: [
          { name: 'logs', action: 'Accept', to: [{ domainNames: ['logs.example.org'] }] },
          { name: 'else', action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] },
        ],
      },
    },
  ]);
});

afterEach(() => server.close());

const explain = (to: string) => server.typed('explain', 'shop/web', to, '-o', 'json');

/** The node has an answer that holds for two minutes more, by a clock that is an hour behind. */
function tell(session: Session): void {
  const nowMs = Date.now() - 3_600_000;
  const times = { toldMs: nowMs - 1_000, untilMs: nowMs + 120_000 };
  const record = { pod: 'shop/web', name: 'logs.example.org', address: '192.0.2.7', ...times };
  session.say(`${JSON.stringify({ nowMs, names: [record] })}\n`);
  session.exit(0);
}

test('the agent of the source’s node says what works now, and for how long', async () => {
  const said = explain('logs.example.org:443');
  const [session] = (await server.asked(1)) as [Session];
  expect([session.pod, session.words]).toEqual([
    'sluice-n2',
    ['sluice', 'inspect', 'names', '--socket=/run/sluice/sluice.sock', 'shop/web'],
  ]);
  tell(session);
  const { code, stdout, stderr } = await said;
  expect([code, stderr]).toEqual([0, '']);
  const { verdict, notes } = JSON.parse(stdout);
  expect(verdict).toBe('allow');
  expect(notes).toContainEqual(
    expect.stringMatching(/^allowed now, for 192\.0\.2\.7 for (2 min|1 min 5\d s) more$/),
  );
});

test('an address that an answer of DNS allows is allowed, as the kernel has it', async () => {
  const said = explain('192.0.2.7:443');
  tell((await server.asked(1))[0]!);
  const { code, stdout } = await said;
  expect([code, JSON.parse(stdout).verdict]).toEqual([0, 'allow']);
});

test('where that agent gives no answer, a denial that DNS may have lifted is undecided', async () => {
  const said = explain('192.0.2.7:443');
  (await server.asked(1))[0]!.cut();
  const { code, stdout, stderr } = await said;
  expect(code).toBe(2);
  expect(stderr).toContain('node n2 gave no answer: the connection was lost');
  expect(JSON.parse(stdout)).toMatchObject({
    verdict: 'undecided',
    reason: 'only the agent of n2 knows which DNS answers shop/web received',
  });
});

test('who may not ask the agents is told so, once', async () => {
  server.rights.list = false;
  const { code, stderr } = await explain('192.0.2.7:443');
  expect(code).toBe(2);
  expect(stderr.match(/the right to list pods in namespace sluice is missing/g)).toHaveLength(1);
});

test('no agent is asked where no rule by name can decide', async () => {
  expect((await explain('shop/web:80')).code).toBe(0);
  server.answers.delete(`${GROUP}/v1alpha2/clusternetworkpolicies`);
  expect((await explain('logs.example.org:443')).code).toBe(0);
  expect(server.sessions).toEqual([]);
});

test('--fix writes the policy of the cluster with the edit, as kubectl apply takes it', async () => {
  const base = '/apis/networking.k8s.io/v1';
  const policy = {
    metadata: {
      name: 'web',
      namespace: 'shop',
      labels: { kept: 'yes' },
      uid: '7',
      resourceVersion: '9',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    },
    spec: {
      podSelector: {},
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'wbe' } } }] }],
    },
  };
  for (const path of ['networkpolicies', 'namespaces/shop/networkpolicies'])
    server.list(`${base}/${path}`, 'networking.k8s.io/v1', 'NetworkPolicy', [policy]);
  server.answers.delete(`${GROUP}/v1alpha2/clusternetworkpolicies`);
  const { code, stdout } = await server.typed(
    'explain',
    'shop/app=web',
    'shop/web:80',
    '--fix',
    '-o',
    'yaml',
  );
  expect(code).toBe(1);
  const written = parseAllDocuments(stdout).flatMap(each => each.toJS() ?? []);
  expect(written).toEqual([
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'web', namespace: 'shop', labels: { kept: 'yes' } },
      spec: {
        podSelector: {},
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
      },
    },
  ]);
});
