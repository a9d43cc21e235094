import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeRuntime, type PluginConnection, sandbox } from '../../../test/support/pods/fakeruntime.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import { LocalPods } from './localpods.ts';
import { type LateStart, StartGate } from './startgate.ts';

let folder: string;
let runtime: FakeRuntime;
let connections: PluginConnection[];
let stop: AbortController;
let running: Promise<void>;
let gate: StartGate;
let state: ClusterState;
let programmed: () => Promise<void>;
/** Calls about connections of the previous owner of an address. */
let told: string[];
let late: LateStart[];
let connects: number;
let log: string[];

const web = sandbox('shop/web', ['10.0.0.1'], { labels: { app: 'web', 'io.kubernetes.pod.name': 'web' } });
const never = () => new Promise<void>(() => {});

beforeEach(async () => {
  told = [];
  folder = mkdtempSync(join(tmpdir(), 'sluice-gate-'));
  [connections, late, log, state, connects] = [[], [], [], new ClusterState(), 0];
  programmed = async () => {};
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
  await runtime?.close(connections);
  rmSync(folder, { recursive: true });
});

const path = () => join(folder, 'nri.sock');

function open(timeoutMs = 20_000): void {
  const note = (events: readonly ClusterEvent[]) => {
    for (const event of events) state.apply(event);
  };
  const say = (_: object, message: string) => void log.push(message);
  gate = new StartGate({
    connect: () => {
      connects++;
      return connect(path());
    },
    pods: new LocalPods('n1'),
    apply: note,
    programmed: () => programmed(),
    staleConntrack: {
      released: addresses => void told.push(`left ${addresses}`),
      sweep: () => void told.push('sweep'),
      flushed: async addresses => void told.push(`cleared ${addresses}`),
    },
    timeoutMs,
    unknownPods: 'deny',
    log: { info: say, warn: say },
    onLate: start => late.push(start),
  });
  running = gate.run(stop.signal);
}

async function taken(sandboxes: Parameters<PluginConnection['takeIn']>[0] = [], timeout?: number) {
  const connection = await runtime.plugin();
  connections.push(connection);
  await connection.takeIn(sandboxes, timeout);
  return connection;
}

test('a pod starts when its rules are in force, and the agent knows it before', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const connection = await taken();
  const rules = Promise.withResolvers<void>();
  programmed = () => rules.promise;
  let started = false;
  const starting = connection.start(web).then(() => {
    started = true;
  });
  await expect.poll(() => state.pods.get('shop/web')?.addresses).toEqual(['10.0.0.1']);
  expect(state.pods.get('shop/web')?.labels).toEqual({ app: 'web' });
  expect(started).toBe(false);
  expect(told).toEqual(['sweep']);
  rules.resolve();
  await starting;
  expect(told).toEqual(['sweep', 'cleared 10.0.0.1']);
  expect([gate.counts, gate.takeWaits().length]).toEqual([{ inTime: 1, late: 0, withoutAddress: 0 }, 1]);
  await connection.stop(web);
  expect(state.pods.size).toBe(0);
  expect(told.at(-1)).toBe('left 10.0.0.1');
});

test('a pod that would wait for too long starts, and all are told that it is closed', async () => {
  runtime = await FakeRuntime.listen(path());
  open(30);
  const connection = await taken();
  programmed = never;
  await connection.start(web);
  expect(gate.counts).toEqual({ inTime: 0, late: 1, withoutAddress: 0 });
  expect(late).toMatchObject([{ key: 'shop/web', uid: web.uid }]);
  expect(late[0]!.message).toMatch(/10\.0\.0\.1 is of no known pod and denied$/);
  expect(log.at(-1)).toBe(late[0]!.message);
});

test('the runtime’s own patience, where it has less, is respected', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const connection = await taken([], 60);
  programmed = never;
  await connection.start(web);
  expect(gate.counts.late).toBe(1);
});

test('pods of the host’s network do not wait, nor those whose address the runtime keeps to itself', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const connection = await taken();
  programmed = never;
  await connection.start(sandbox('kube-system/proxy', [], { linux: null }));
  await connection.start(sandbox('shop/mute', []));
  await connection.start(sandbox('shop/mute-2', []));
  expect(gate.counts).toEqual({ inTime: 0, late: 0, withoutAddress: 2 });
  expect(log.filter(line => line.includes('reports no addresses'))).toHaveLength(1);
});

test('names and addresses that are none are no pods, and their starts wait for nothing', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const connection = await taken();
  programmed = never;
  await connection.start(sandbox('shop/web', ['10.0.0.1'], { name: '' }));
  await connection.start(sandbox('shop/web', ['10.0.0.1'], { namespace: 'a/b' }));
  await connection.start(sandbox('shop/web', ['10.0.0.999', 'nonsense']));
  expect(state.pods.size).toBe(0);
});

test('without a runtime it says so once, and connects when there is one', async () => {
  open();
  await expect.poll(() => gate.state.kind).toBe('lost');
  await expect.poll(() => connects).toBeGreaterThanOrEqual(3);
  expect(log).toHaveLength(1);
  expect(log[0]).toMatch(/not connected to the runtime.*ENOENT/);
  runtime = await FakeRuntime.listen(path());
  await taken([web]);
  expect([gate.state.kind, state.pods.get('shop/web')?.addresses]).toEqual(['connected', ['10.0.0.1']]);
});

test('the runtime is taken in when the rules of all that lives are in force', async () => {
  runtime = await FakeRuntime.listen(path());
  const rules = Promise.withResolvers<void>();
  programmed = () => rules.promise;
  open();
  let takenIn = false;
  const taking = taken([web]).then(() => {
    takenIn = true;
  });
  await expect.poll(() => state.pods.size).toBe(1);
  expect(takenIn).toBe(false);
  rules.resolve();
  await taking;
});

test('a runtime that has not told what lives is not connected, whatever it was told of us', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const connection = await runtime.plugin();
  connections.push(connection);
  await connection.configure();
  expect([gate.state.kind, log]).toEqual(['connecting', []]);
  await connection.synchronize([web]);
  expect([gate.state.kind, log]).toEqual([
    'connected',
    [expect.stringMatching(/the runtime waits for the rules/)],
  ]);
});

test('a runtime is not kept waiting for long by the rules of what lives', async () => {
  runtime = await FakeRuntime.listen(path());
  programmed = never;
  open(30);
  await taken([web]);
  expect(log.at(-1)).toMatch(/the rules of the pods that ran before are not in force after 30 ms/);
});

test('a runtime that restarts is followed, and tells anew what lives', async () => {
  runtime = await FakeRuntime.listen(path());
  open();
  const first = await taken([web]);
  await runtime.close([first]);
  await expect.poll(() => gate.state.kind).toBe('lost');
  expect(state.pods.size).toBe(0);
  runtime = await FakeRuntime.listen(path());
  await taken([sandbox('shop/other', ['10.0.0.2'])]);
  expect([...state.pods.keys()]).toEqual(['shop/other']);
});
