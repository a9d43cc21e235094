/** What agents do as they were started, asked of a live cluster: with addresses of a pod network that no pod has, and with tunnels. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ExecServer } from '../../test/support/api/execserver.ts';

const NETWORKING = 'networking.k8s.io/v1';
let server: ExecServer;
let folder: string;

const policy = (cidr: string) => ({
  apiVersion: NETWORKING,
  kind: 'NetworkPolicy',
  metadata: { name: 'pods', namespace: 'shop' },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr } }] }] },
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-unknown-'));
  server = await new ExecServer().start();
  const labels = { 'kubernetes.io/metadata.name': 'shop' };
  server.list('/api/v1/namespaces', 'v1', 'Namespace', [{ metadata: { name: 'shop', labels } }]);
  server.list('/api/v1/pods', 'v1', 'Pod', [
    {
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running', podIP: '10.1.1.7', podIPs: [{ ip: '10.1.1.7' }] },
    },
  ]);
  server.nodeObjects = [
    {
      metadata: { name: 'n1' },
      spec: { podCIDRs: ['10.1.1.0/24'] },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
    },
  ];
  server.list(`/apis/${NETWORKING}/networkpolicies`, NETWORKING, 'NetworkPolicy', [policy('10.1.0.0/16')]);
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const DAEMON_SETS = '/apis/apps/v1/namespaces/sluice/daemonsets';

/** The agents are started with these arguments. */
function started(...args: readonly string[]): void {
  server.list(DAEMON_SETS, 'apps/v1', 'DaemonSet', [daemonSet(...args)]);
}

function daemonSet(...args: readonly string[]) {
  const agent = { name: 'agent', args: ['agent', '--node', '$(NODE_NAME)', ...args] };
  const status = { desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberReady: 1 };
  return {
    metadata: { name: 'sluice', namespace: 'sluice', generation: 2 },
    spec: { template: { spec: { hostNetwork: true, containers: [agent] } } },
    status: { observedGeneration: 2, ...status },
  };
}

const spaced = (text: string) => text.replaceAll(/\s+/g, ' ');
const SILENT = expect.not.stringContaining('no known pod');
const NOTE =
  'addresses of 10.1.1.0/24 that no known pod has are left out: agents deny or allow their packets';

test('a matrix calls none of them allowed, and a note says who knows', async () => {
  const { code, stdout, stderr } = await server.typed('matrix');
  expect([code, spaced(stderr)]).toEqual([0, expect.stringContaining(NOTE)]);
  expect(stdout).not.toContain('10.1.0.0/16');
  expect(spaced(stderr)).toContain('there is no DaemonSet of them in namespace sluice');
  for (const say of [
    (what: string) => [`--unknown-pods=${what}`],
    (what: string) => {
      started(`--unknown-pods=${what}`);
      return [];
    },
  ]) {
    const allowed = await server.typed('matrix', ...say('allow'));
    expect([allowed.stderr, allowed.stdout]).toEqual([SILENT, expect.stringContaining('10.1.0.0/16')]);
    const denied = await server.typed('matrix', ...say('deny'));
    expect([denied.stderr, denied.stdout]).toEqual([SILENT, expect.not.stringContaining('10.1.0.0/16')]);
  }
});

test('where no network of a policy has some of them, nothing is said', async () => {
  const path = `/apis/${NETWORKING}/networkpolicies`;
  for (const cidr of ['0.0.0.0/0', '10.2.0.0/16', '198.51.100.0/24']) {
    server.list(path, NETWORKING, 'NetworkPolicy', [policy(cidr)]);
    expect((await server.typed('matrix')).stderr, cidr).toEqual(SILENT);
  }
});

test('a comparison calls none of them opened', async () => {
  const file = join(folder, 'new.yaml');
  writeFileSync(file, JSON.stringify(policy('10.1.1.0/24')));
  const said = await server.typed('diff', '@cluster', file, '--with', '@cluster', '-o', 'json');
  const { changes, notes } = JSON.parse(said.stdout);
  expect([notes.map(spaced), JSON.stringify(changes)]).toEqual([
    [expect.stringContaining(NOTE)],
    expect.not.stringContaining('10.1.1.'),
  ]);
});

test.each([
  ['allow', 2],
  ['deny', 2],
  ['allow', 0, 'allow'],
  ['deny', 0, 'deny'],
  ['allow', 1, 'deny'],
])('a test that expects %s is %d where the file says %s', async (expected, wanted, unknownPods?: string) => {
  const file = join(folder, 'a.test.yaml');
  const flows = [`10.1.1.250 -> 10.1.1.7:80 ${expected}`, `10.1.1.250 -> shop/web:80 ${expected}`];
  writeFileSync(file, JSON.stringify({ title: 'a', flows, ...(unknownPods && { unknownPods }) }));
  const { code, stdout } = await server.typed('test', file, '-o', 'json');
  expect(code, stdout).toBe(wanted);
  const { cases } = JSON.parse(stdout);
  const failures = cases.flatMap(({ failure }: { failure?: string }) => failure ?? []);
  if (wanted === 2)
    expect(failures).toEqual(flows.map(() => expect.stringContaining('agents deny or allow its packets')));
});

const explain = (from: string, to: string, ...words: string[]) =>
  server.typed('explain', from, to, '-o', 'json', ...words);

test.each([
  ['deny', 1],
  ['allow', 0],
])('agents that are started to %s them decide what explain, test and diff say', async (what, code) => {
  started(`--unknown-pods=${what}`);
  for (const [from, to] of [
    ['10.1.1.250', 'shop/web:80'],
    ['shop/web', '10.1.1.250:80'],
  ] as const) {
    const said = await explain(from, to);
    expect([said.code, JSON.parse(said.stdout).verdict]).toEqual([code, what]);
  }
  const file = join(folder, 'a.test.yaml');
  writeFileSync(file, JSON.stringify({ title: 'a', flows: [`10.1.1.250 -> 10.1.1.7:80 ${what}`] }));
  expect((await server.typed('test', file)).code).toBe(0);
  const changed = join(folder, 'new.yaml');
  writeFileSync(changed, JSON.stringify(policy('10.1.1.0/24')));
  server.list(`/apis/${NETWORKING}/networkpolicies`, NETWORKING, 'NetworkPolicy', [policy('10.9.0.0/16')]);
  const { stdout, stderr } = await server.typed(
    'diff',
    '@cluster',
    changed,
    '--with',
    '@cluster',
    '-o',
    'json',
  );
  expect(stderr).toEqual(SILENT);
  expect(JSON.stringify(JSON.parse(stdout).changes).includes('10.1.1.')).toBe(what === 'allow');
  expect(server.sessions).toEqual([]);
});

test.each([
  ['deny', 1],
  ['allow', 0],
])('what agents are started to %s pods to send into tunnels, explain says', async (what, code) => {
  started('--unknown-pods=deny', `--pod-tunnels=${what}`);
  const said = await explain('shop/web', '192.168.0.1:8472/UDP');
  expect([said.code, JSON.parse(said.stdout).verdict]).toEqual([code, what]);
});

test('who may not read the DaemonSet has no verdict where its flags decide, and is told why', async () => {
  started('--unknown-pods=deny');
  server.forbidden.add(DAEMON_SETS);
  server.rights.list = false;
  for (const [from, to] of [
    ['10.1.1.250', 'shop/web:80'],
    ['shop/web', '192.168.0.1:8472/UDP'],
  ] as const) {
    const { code, stdout } = await explain(from, to);
    const { verdict, reason } = JSON.parse(stdout);
    expect([code, verdict]).toEqual([2, 'undecided']);
    expect(reason).toContain('as they were started, and you may not list daemonsets in namespace sluice');
  }
  expect((await explain('shop/web', '192.168.0.1:80')).code).toBe(0);
});

test('a DaemonSet of another namespace says nothing, whatever its labels are, unless the caller names the namespace', async () => {
  const own = {
    ...daemonSet('--unknown-pods=allow'),
    metadata: { name: 'sluice', namespace: 'shop', generation: 2 },
  };
  server.list('/apis/apps/v1/daemonsets', 'apps/v1', 'DaemonSet', [own]);
  server.list('/apis/apps/v1/namespaces/shop/daemonsets', 'apps/v1', 'DaemonSet', [own]);
  server.rights.list = false;
  expect((await explain('10.1.1.250', 'shop/web:80')).code).toBe(2);
  started('--unknown-pods=deny');
  expect((await explain('10.1.1.250', 'shop/web:80')).code).toBe(1);
  expect((await explain('10.1.1.250', 'shop/web:80', '--agents', 'shop')).code).toBe(0);
});

test.each([
  [true, 1, 'deny'],
  [false, 0, 'allow'],
])(
  'where it is left to each node, the agent of the node says that it denies them: %s',
  async (deniesUnknownPods, code, verdict) => {
    started();
    const said = explain('10.1.1.250', 'shop/web:80');
    const [session] = await server.asked(1);
    expect([session!.pod, session!.words]).toEqual([
      'sluice-n1',
      ['sluice', 'status', '--socket=/run/sluice/sluice.sock', '--output=json'],
    ]);
    session!.say(`${JSON.stringify({ kind: 'Status', ready: true, deniesUnknownPods })}\n`);
    session!.exit(0);
    const { stdout, ...rest } = await said;
    expect([rest.code, JSON.parse(stdout).verdict]).toEqual([code, verdict]);
  },
);

test('an agent that is not ready, or says what nobody understands, decides nothing', async () => {
  started();
  for (const [status, exit] of [
    [{ kind: 'Status', deniesUnknownPods: true }, 1],
    [{ kind: 'Status', deniesUnknownPods: 'no' }, 0],
  ] as const) {
    const before = server.sessions.length;
    const said = explain('10.1.1.250', 'shop/web:80');
    const session = (await server.asked(before + 1)).at(-1)!;
    session.say(`${JSON.stringify(status)}\n`);
    session.exit(exit);
    const { code, stdout } = await said;
    expect([code, JSON.parse(stdout).reason]).toEqual([2, expect.stringContaining('leaves it to each node')]);
  }
});
