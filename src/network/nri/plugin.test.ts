import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeRuntime, type PluginConnection, sandbox } from '../../../test/support/pods/fakeruntime.ts';
import { encode, NRI_PACKAGE, type PodSandbox } from './messages.ts';
import { encodeFrames } from './multiplex.ts';
import { encodeMessage, REQUEST } from './peer.ts';
import { type PluginHandlers, type Runtime, runPlugin } from './plugin.ts';

const web = sandbox('shop/web', ['10.0.0.1', 'fd00::1'], { labels: { app: 'web' } });

let folder: string;
let runtime: FakeRuntime;
let stop: AbortController;
let ended: Promise<string>;
let connection: PluginConnection;
let told: string[];
let configured: Runtime | undefined;
let starts: (sandbox: PodSandbox) => Promise<void>;

const handlers: PluginHandlers = {
  configured: runtime => {
    configured = runtime;
  },
  synchronised: async sandboxes => void told.push(`all: ${sandboxes.map(({ id }) => id)}`),
  started: async pod => {
    told.push(`started ${pod.namespace}/${pod.name} ${pod.ips} ${JSON.stringify(pod.labels)}`);
    await starts(pod);
  },
  stopped: ({ id }) => void told.push(`stopped ${id}`),
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-nri-'));
  runtime = await FakeRuntime.listen(join(folder, 'nri.sock'));
  stop = new AbortController();
  told = [];
  starts = async () => {};
  ended = runPlugin(connect(runtime.path), handlers, stop.signal);
  connection = await runtime.plugin();
});

afterEach(async () => {
  stop.abort();
  await ended;
  await runtime.close([connection]);
  rmSync(folder, { recursive: true });
});

test('registers, and asks for the events of sandboxes alone', async () => {
  expect(await connection.registered).toEqual({ pluginName: 'sluice', pluginIdx: '90' });
  expect(await connection.takeIn([])).toBe(0b111);
  expect(configured).toEqual({ name: 'fake', version: 'v2', requestTimeoutMs: 2000 });
});

test('tells of all sandboxes that live at once, in however many messages they come', async () => {
  await connection.registered;
  const [first, ended, api, batch] = [
    web,
    ...['a/ended', 'a/api', 'a/batch'].map(key => sandbox(key, ['10.0.0.9'], { pid: 0 })),
  ];
  const call = (request: object) =>
    connection.peer.call(`${NRI_PACKAGE}.Plugin`, 'Synchronize', encode('SynchronizeRequest', request));
  await call({ pods: [first, ended], more: true });
  expect(told).toEqual([]);
  await call({ pods: [api, batch], containers: [{ podSandboxId: api!.id }] });
  expect(told).toEqual([`all: ${web.id},${api!.id}`]);
});

test('a pod starts when the handler has settled, and not before', async () => {
  await connection.takeIn([]);
  const gate = Promise.withResolvers<void>();
  starts = () => gate.promise;
  let started = false;
  const starting = connection.start(web).then(() => {
    started = true;
  });
  await connection.stop(sandbox('shop/other', []));
  expect([started, told.at(-1)]).toEqual([false, 'stopped id-shop/other']);
  expect(told).toContain('started shop/web 10.0.0.1,fd00::1 {"app":"web"}');
  gate.resolve();
  await starting;
  expect(started).toBe(true);
});

test('a handler that throws fails the pod: it does not start without an answer', async () => {
  await connection.takeIn([]);
  starts = () => Promise.reject(new Error('no rules'));
  await expect(connection.start(web)).rejects.toThrow('no rules');
});

test('calls that we do not know, and messages that we cannot read, are refused and change nothing', async () => {
  await connection.takeIn([]);
  const { peer } = connection;
  await expect(peer.call(`${NRI_PACKAGE}.Plugin`, 'Dance', Buffer.alloc(0))).rejects.toMatchObject({
    code: 12,
  });
  await expect(peer.call('nri.pkg.api.v2.Plugin', 'StateChange', Buffer.alloc(0))).rejects.toMatchObject({
    code: 12,
  });
  const garbage = Buffer.from('0801ff', 'hex');
  await expect(peer.call(`${NRI_PACKAGE}.Plugin`, 'StateChange', garbage)).rejects.toMatchObject({ code: 3 });
  expect(told).toEqual(['all: ']);
  await connection.start(web);
});

test.each<[string, (socket: Socket) => void, RegExp]>([
  ['garbage', socket => socket.write(Buffer.alloc(64, 0xff)), /a frame of 4294967295 bytes/],
  [
    'an oversized message',
    socket => socket.write(encodeFrames(1, Buffer.from('00500000000000010100', 'hex'))),
    /a message of 5242880 bytes/,
  ],
  [
    'a response to nothing',
    socket => socket.write(encodeFrames(2, encodeMessage({ stream: 99, type: 2, data: Buffer.alloc(0) }))),
    /stream 99/,
  ],
  [
    'a request where responses are',
    socket =>
      socket.write(encodeFrames(2, encodeMessage({ stream: 1, type: REQUEST, data: Buffer.alloc(0) }))),
    /a request where/,
  ],
  ['its end', socket => socket.end(), /closed/],
])('%s from the runtime ends the connection, with the reason', async (_what, send, reason) => {
  await connection.takeIn([]);
  send(connection.socket);
  expect(await ended).toMatch(reason);
});

test('what a runtime calls itself, and why it refuses, is heard to a length that a line may have', async () => {
  await connection.takeIn([]);
  const { peer, socket } = connection;
  const names = { runtimeName: 'n'.repeat(1 << 20), runtimeVersion: 'v'.repeat(1 << 20) };
  await peer.call(`${NRI_PACKAGE}.Plugin`, 'Configure', encode('ConfigureRequest', names));
  expect(configured).toEqual({ name: 'n'.repeat(100), version: 'v'.repeat(100), requestTimeoutMs: 0 });
  socket.destroy();
  const again = runPlugin(connect(runtime.path), handlers, stop.signal);
  const next = await runtime.plugin();
  next.socket.removeAllListeners('data');
  const status = encode('Response', { status: { code: 7, message: 'x'.repeat(1 << 20) } });
  next.socket.write(encodeFrames(2, encodeMessage({ stream: 1, type: 2, data: status })));
  expect((await again).length).toBeLessThan(1_100);
  next.peer.close('done');
});

const synchronize = (request: object) =>
  connection.peer.call(`${NRI_PACKAGE}.Plugin`, 'Synchronize', encode('SynchronizeRequest', request));

test.each([
  ['sandboxes', { pods: Array.from({ length: 50_000 }, (_, i) => ({ id: `${i}` })) }, 2],
  ['names of containers', { containers: [{ podSandboxId: 'x'.repeat(3 << 20) }] }, 21],
  ['labels', { pods: [{ id: 'a', labels: { a: 'x'.repeat(3 << 20) } }] }, 21],
])('%s without end, in messages without end, end the connection', async (_, request, taken) => {
  await connection.registered;
  for (let i = 0; i < taken; i++) await synchronize({ ...request, more: true });
  await expect(synchronize({ ...request, more: true })).rejects.toThrow(/connection/);
  expect(await ended).toMatch(/a Synchronize of more than/);
  expect(told).toEqual([]);
});

test('a runtime that asks and never reads an answer is left', async () => {
  await connection.takeIn([]);
  const { socket } = connection;
  socket.pause();
  const unknown = encode('Request', { service: 'x'.repeat(2_000), method: 'Dance' });
  const bytes = encodeFrames(1, encodeMessage({ stream: 1, type: REQUEST, data: unknown }));
  const left = ended.then(reason => ({ reason }));
  for (let sent = 0; sent < 10_000; sent++) {
    const isFull = !socket.write(bytes);
    if (!isFull) continue;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    socket.once('drain', resolve);
    if ((await Promise.race([promise, left])) !== undefined) break;
  }
  expect((await left).reason).toMatch(/more than 64 requests at a time/);
});

test('a runtime that refuses the plugin is heard', async () => {
  const refused = runPlugin(connect(runtime.path), handlers, stop.signal);
  const { peer, socket } = await runtime.plugin();
  socket.removeAllListeners('data');
  const status = encode('Response', { status: { code: 7, message: 'connections are disabled' } });
  socket.write(encodeFrames(2, encodeMessage({ stream: 1, type: 2, data: status })));
  expect(await refused).toMatch('the runtime refused the plugin: connections are disabled');
  peer.close('done');
});
