/** The command as people type it, on an API server that speaks exec. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ExecServer } from '../../../test/support/api/execserver.ts';

let server: ExecServer;
const children: ChildProcess[] = [];

beforeEach(async () => {
  server = await new ExecServer().start();
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  server.close();
});

const PATIENCE = { timeout: 30_000 };
const MAIN = join(import.meta.dirname, '../main.ts');

function typed(...words: string[]) {
  const child = spawn(process.execPath, [MAIN, ...words, '--kubeconfig', server.kubeconfig]);
  children.push(child);
  const said = { out: '', err: '', code: undefined as number | null | undefined, signal: '' };
  child.stdout.on('data', data => {
    said.out += data;
  });
  child.stderr.on('data', data => {
    said.err += data;
  });
  child.on('exit', (code, signal) => {
    said.code = code;
    said.signal = String(signal);
  });
  return { said, child };
}

function flow(pod: string, at: string): string {
  const time = `2026-01-01T00:00:0${at}.000Z`;
  const object = {
    apiVersion: 'sluice/v1',
    kind: 'SeenFlow',
    time,
    protocol: 'TCP',
    port: 80,
    family: 'ipv4',
  };
  const ends = { from: { address: '10.0.0.1', pod }, to: { address: '10.0.0.2' }, directions: ['egress'] };
  return `${JSON.stringify({ ...object, ...ends })}\n`;
}

test('flows of all nodes at one prompt: in order, with their nodes, without escapes, and how many at the end', async () => {
  const { said, child } = typed('flows', '--follow', '-n', 'shop');
  const [first, second] = await server.asked(2);
  expect(first!.words).toEqual([
    ...['sluice', 'flows', '--output=json', '--remote', '--follow', '--namespace=shop'],
  ]);
  first!.say('\n');
  second!.say('\n');
  const [begun, ended] = [flow('shop/a\x1b[2J', '2').slice(0, 30), flow('shop/a\x1b[2J', '2').slice(30)];
  first!.say(begun);
  first!.say(ended);
  second!.say(flow('shop/b', '1'));
  await vi.waitFor(() => expect(said.out.split('\n')).toHaveLength(3), PATIENCE);
  expect(said.out).not.toContain('\x1b');
  expect(said.out).toMatch(
    /n\d {2}shop\/b -> 10\.0\.0\.2:80\/TCP {2}allowed egress\n.*n\d {2}shop\/a\\x1b\[2J -> /,
  );
  child.kill('SIGINT');
  await vi.waitFor(() => expect(said.signal).toBe('SIGINT'), PATIENCE);
  expect(said.out).toMatch(/\n2 new connections and 0 denied ones in \d+ s\n$/);
});

test('a hundred nodes: at most 32 handshakes at once, all streams open together, and how many report', async () => {
  server.nodes = Array.from({ length: 100 }, (_, n) => `n${100 + n}`);
  const waiting: (() => void)[] = [];
  server.handshakes = waiting;
  const { said, child } = typed('flows', '--follow', '-o', 'json');
  for (let accepted = 0; accepted < 100; accepted++) {
    await vi.waitFor(() => expect(waiting.length).toBe(Math.min(100, accepted + 32)), PATIENCE);
    waiting[accepted]!();
  }
  const sessions = await server.asked(100);
  const [cut, open] = [sessions.slice(0, 10), sessions.slice(10)];
  for (const session of cut) session.cut();
  for (const session of open) session.say('\n');
  await vi.waitFor(() => expect(said.err).toContain('90 of 100 nodes report'), PATIENCE);
  expect(said.err.match(/is away: the connection was lost/g)).toHaveLength(5);
  expect(said.err).toContain('5 more nodes are away: the connection was lost');
  for (const [at, session] of open.entries()) session.say(flow(`shop/web-${at}`, '1'));
  await vi.waitFor(() => expect(said.out.trimEnd().split('\n')).toHaveLength(90), PATIENCE);
  expect(open.some(({ isClosed }) => isClosed)).toBe(false);
  child.kill('SIGINT');
  await vi.waitFor(() => expect(said.signal).toBe('SIGINT'), PATIENCE);
});

test('a node that is cut off is said, is back by itself, and ends with the prompt', async () => {
  server.nodes = ['n1'];
  const { said, child } = typed('drops', '--follow', '-o', 'json');
  const [session] = await server.asked(1);
  session!.say('\n');
  session!.say('warning\x1b]0;x\x07\n', 'stderr');
  await vi.waitFor(() => expect(said.err).toContain('node n1: warning\\x1b]0;x\\x07'), PATIENCE);
  session!.cut();
  await vi.waitFor(() => expect(said.err).toContain('node n1 is away: the connection was lost'), PATIENCE);
  const [, again] = await server.asked(2);
  again!.say('\n');
  await vi.waitFor(() => expect(said.err).toContain('node n1 is back'), PATIENCE);
  child.kill('SIGINT');
  await vi.waitFor(() => expect(again!.isClosed).toBe(true), PATIENCE);
  expect(said.out).toBe('');
  expect(said.err).toMatch(/\n0 denied connections shown\n$/);
});

test('a node that stays silent is away, and keeps nobody from the others', async () => {
  const { said } = typed('flows', '--follow');
  const [first] = await server.asked(2);
  const beats = setInterval(() => first!.say('\n'), 1_000);
  first!.say(flow('shop/a', '1'));
  await vi.waitFor(() => expect(said.out).toContain('shop/a ->'), PATIENCE);
  await vi.waitFor(() => expect(said.err).toMatch(/node n\d is away: it does not answer/), PATIENCE);
  clearInterval(beats);
  expect(said.err.match(/is away/g)).toHaveLength(1);
});

test('without --follow it ends when all have told, and says what an agent did not understand: trouble', async () => {
  const { said } = typed('drops');
  const [first, second] = await server.asked(2);
  first!.exit(0);
  second!.say("error: unknown option '--remote'\n", 'stderr');
  second!.exit(1);
  await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
  expect(said.err).toContain("error: unknown option '--remote'");
});

test('`status` has a line for each node, also for one that is not ready, and one without an agent', async () => {
  server.withoutAgent = ['n3'];
  const { said } = typed('status');
  const asked = await server.asked(2);
  const checks = [{ name: 'own-node', state: 'fail', reason: 'there is no Node nod2' }];
  for (const session of asked) {
    expect(session.words.slice(0, 2)).toEqual(['sluice', 'status']);
    const isFine = session.pod === 'sluice-n1';
    const status = { kind: 'Status', ready: isFine, checks: isFine ? [] : checks, problems: [] };
    session.say(`${JSON.stringify(status)}\n`);
    session.exit(isFine ? 0 : 1);
  }
  await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
  expect(said.out).toBe(
    [
      'n1  ready      all checks are ok',
      'n2  not ready  fail own-node: there is no Node nod2',
      'n3  away       no agent runs on it',
      '',
    ].join('\n'),
  );
});

test.each([
  ['garbage', 0, 'away       its answer cannot be read', 2],
  ['{"kind":"Status","ready":false,"node":"n1"}', 0, 'not ready  all checks are ok', 1],
  ['{"kind":"Status","ready":true}', 1, 'not ready  all checks are ok', 1],
  ['{"kind":"Status","ready":true}', Number.NaN, 'away       exit code NaN', 2],
] as const)('`status` of %s that ends with %s is no good answer', async (line, code, shown, exitCode) => {
  const { said } = typed('status');
  for (const session of await server.asked(2)) {
    const isFirst = session.pod === 'sluice-n1';
    session.say(`${isFirst ? '{"kind":"Status","ready":true,"checks":[]}' : line}\n`);
    session.exit(isFirst ? 0 : code);
  }
  await vi.waitFor(() => expect(said.code).toBe(exitCode), PATIENCE);
  expect(said.out).toBe(`n1  ready      all checks are ok\nn2  ${shown}\n`);
});

test('`inspect` of all nodes says which gave no answer, and no node speaks for another', async () => {
  const { said } = typed('inspect', '-o', 'json');
  const [first, second] = await server.asked(2);
  first!.say('{"kind":"Inspection","node":"n2"}\nno object\n');
  first!.exit(0);
  second!.say('sluice: the kernel may not be read\n', 'stderr');
  second!.exit(2);
  await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
  const own = first!.pod.replace('sluice-', '');
  expect(
    said.out
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toEqual([{ kind: 'Inspection', node: own }]);
  expect(said.err).toContain(`node ${own} wrote something that cannot be read`);
  expect(said.err).toContain('the kernel may not be read');
});

test('`inspect` of a policy asks all nodes, and one that has nothing of it has not failed', async () => {
  const { said } = typed('inspect', 'NetworkPolicy shop/db');
  const [first, second] = await server.asked(2);
  first!.say('shop/db  10.0.1.7\n');
  first!.exit(0);
  second!.say(
    'sluice: no pod of this node is NetworkPolicy shop/db, is in it, or is judged by it\n',
    'stderr',
  );
  second!.exit(2);
  await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
  expect([said.out, said.err]).toEqual([expect.stringContaining('shop/db  10.0.1.7\n'), '']);
});

/** Pods of the namespace shop on three nodes, without policies. */
function podsOnThreeNodes(): void {
  server.nodes = ['n1', 'n2', 'n3'];
  const pod = (name: string, node: string, podIP: string) => ({
    metadata: { name, namespace: 'shop', labels: { app: name.slice(0, -2) } },
    spec: { nodeName: node, containers: [] },
    status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] },
  });
  const pods = [
    pod('web-1', 'n1', '10.0.1.7'),
    pod('web-2', 'n3', '10.0.3.7'),
    pod('db-1', 'n2', '10.0.2.7'),
  ];
  server.list('/api/v1/pods', 'v1', 'Pod', pods);
  server.list('/api/v1/namespaces', 'v1', 'Namespace', [{ metadata: { name: 'shop' } }]);
  const policies = '/apis/networking.k8s.io/v1/networkpolicies';
  server.list(policies, 'networking.k8s.io/v1', 'NetworkPolicy', []);
}

test('`inspect` of labels asks the nodes of the pods that have them, and says which these are', async () => {
  podsOnThreeNodes();
  const { said } = typed('inspect', 'app=web', '-n', 'shop');
  const sessions = await server.asked(2);
  expect(sessions.map(session => session.pod).sort()).toEqual(['sluice-n1', 'sluice-n3']);
  for (const session of sessions) {
    expect(session.words.slice(0, 5)).toEqual(['keepcaps', 'sluice', 'inspect', 'shop/web-1', 'shop/web-2']);
    session.say('accept\n');
    session.exit(0);
  }
  await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
  expect(said.out).toBe('on n1\naccept\n\non n3\naccept\n');
  expect(said.err).toContain('shop/app=web means 2 pods: shop/web-1, shop/web-2');
});

test('`trace` asks the nodes of both ends, and no other', async () => {
  podsOnThreeNodes();
  const { said } = typed('trace', 'shop/web-1', 'shop/app=db:5432');
  const sessions = await server.asked(2);
  expect(sessions.map(session => session.pod).sort()).toEqual(['sluice-n1', 'sluice-n2']);
  for (const session of sessions) {
    expect(session.words.slice(0, 5)).toEqual([
      'keepcaps',
      'sluice',
      'trace',
      'shop/web-1',
      'shop/db-1:5432',
    ]);
    session.say('accept\n');
    session.exit(0);
  }
  await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
  expect(said.out).toBe('on n1\naccept\n\non n2\naccept\n');
  expect(said.err).toContain('shop/app=db:5432 is traced as shop/db-1, its pod');
});

test('`drops` of what nobody has says so, and whether one agent knows of it', async () => {
  server.nodes = ['n1'];
  const { said } = typed('drops', '--pod', 'shop/wbe');
  const [first] = await server.asked(1);
  first!.exit(0);
  const [, second] = await server.asked(2);
  expect(second!.words).toEqual(['sluice', 'drops', '--remote', '--pod=shop/wbe']);
  second!.say('\nno denied connection, and the agent knows no pod shop/wbe\n0 connection attempts named\n');
  second!.exit(0);
  await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
  expect(said.out).toBe('no denied connection, and the agents know no pod shop/wbe\n');
});

test.each([
  ['list', 'the right to list pods in namespace sluice is missing'],
  ['exec', 'the right to create and get pods/exec in namespace sluice is missing'],
] as const)(
  'a caller who may not %s gets nothing, and is told which right is missing',
  async (right, message) => {
    server.rights[right] = false;
    const { said } = typed('drops', '--follow');
    await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
    expect(said.err).toContain(message);
    expect(said.out).toBe('');
  },
);
