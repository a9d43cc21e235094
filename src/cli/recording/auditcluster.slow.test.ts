/** `sluice audit` of a whole cluster, as people type it, on an API server that speaks exec. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ExecServer, type Session } from '../../../test/support/api/execserver.ts';

let server: ExecServer;

beforeEach(async () => {
  server = await new ExecServer().start();
  const annotations = { 'sluice.dev/enforcement': 'audit' };
  const metadata = { name: 'db', namespace: 'shop', annotations };
  const items = [{ metadata, spec: { podSelector: {}, policyTypes: ['Ingress'] } }];
  const path = '/apis/networking.k8s.io/v1/networkpolicies';
  server.list(path, 'networking.k8s.io/v1', 'NetworkPolicy', items);
});

afterEach(() => server.close());

const PATIENCE = { timeout: 30_000 };

const typed = (...words: string[]) => server.typed('audit', ...words);

const HEADER = {
  ...{ apiVersion: 'sluice/v1', kind: 'Recording', fromMs: 1, toMs: 2, recordedOn: ['n1'] },
  ...{ unknownPods: 'allow', lost: 0, leftOut: [] },
};

/** A part with a connection to a pod of this namespace, on this port. */
function part(namespace: string, port: number): string {
  const pod = (name: string) => ({ namespace, name, node: 'n1', labels: { app: name } });
  const flow = { from: 0, to: 1, protocol: 'TCP', was: 'allow', firstMs: 1, lastMs: 2, port };
  const lines = [
    HEADER,
    { end: { address: '10.0.0.1', pod: pod('web') } },
    { end: { address: '10.0.0.2', pod: pod('db') } },
    { flow: { ...flow, egress: 1, ingress: 1 } },
    { complete: { flows: 1 } },
  ];
  return lines.map(line => `${JSON.stringify(line)}\n`).join('');
}

function answer(session: Session, text: string): void {
  session.say(`\n${text}`);
  session.exit(0);
}

test('all agents say what they know, and what would be denied on any node is', async () => {
  const said = typed('-o', 'json');
  const [first, second] = await server.asked(2);
  expect(first!.words).toEqual(['sluice', 'record', '-', '--remote', '--known']);
  answer(first!, part('shop', 80));
  answer(second!, part('shop', 81));
  const { code, stdout, stderr } = await said;
  expect([code, stderr]).toEqual([1, '']);
  const { recording, wouldDeny } = JSON.parse(stdout);
  expect(recording).toMatchObject({ recordedOn: ['n1', 'n2'], missedOn: [] });
  expect(wouldDeny.map(({ port }: { port: number }) => port)).toEqual([80, 81]);
});

test('a node without an agent, and one that is cut off, are named, and nothing is certain', async () => {
  server.withoutAgent = ['n3'];
  const said = typed('-o', 'json');
  const [first, second] = await server.asked(2);
  answer(first!, part('guest', 80));
  second!.cut();
  const { code, stdout, stderr } = await said;
  expect(code).toBe(2);
  const cut = second!.pod.replace('sluice-', '');
  expect(stderr).toContain('no agent runs on n3: what happens there is missing');
  expect(stderr).toContain(`node ${cut} is away: the connection was lost`);
  expect(JSON.parse(stdout)).toMatchObject({ recording: { missedOn: [cut, 'n3'] }, wouldDeny: [] });
});

test('--node asks one agent, and nothing is missing of the others', async () => {
  const said = typed('-n', 'shop', '--node', 'n2', '--for', '1s');
  const [only] = await server.asked(1);
  expect([only!.pod, only!.words]).toEqual(['sluice-n2', ['sluice', 'record', '-', '--remote']]);
  await vi.waitFor(() => expect(only!.input).not.toBe(''), PATIENCE);
  answer(only!, part('guest', 80));
  const { code, stdout, stderr } = await said;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('would have denied nothing more');
});

test('where no agent reports anything there is no answer', async () => {
  const said = typed();
  for (const session of await server.asked(2)) {
    session.say("error: unknown option '--known'\n", 'stderr');
    session.exit(2);
  }
  const { code, stdout, stderr } = await said;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain("node n1: error: unknown option '--known'");
  expect(stderr).toContain('sluice: no agent reported its connections: nothing is audited');
});

test('who may not run commands in the pods of the agents is told which right is missing', async () => {
  server.rights.exec = false;
  const { code, stdout, stderr } = await typed();
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('the right to create and get pods/exec in namespace sluice is missing');
});

test('who may not list policies is not told that none is audited', async () => {
  server.forbidden.add('/apis/networking.k8s.io/v1/networkpolicies');
  const { code, stdout, stderr } = await typed();
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('note: you may not list networkpolicies');
  expect(stderr).toContain('sluice: it is not known which policies are audited');
});
