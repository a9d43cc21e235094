import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveHttp } from './http.ts';
import { type HttpServer, timeouts } from './listener.ts';
import type { AgentView } from './view.ts';

const VIEW = { health: async () => ({ ready: true, checks: [] }) } as unknown as AgentView;

let server: HttpServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  const limits = { patienceMs: 150, checkMs: 20, mostConnections: 8 };
  server = await serveHttp({ address: '127.0.0.1:0', view: VIEW, metrics: new Registry(), limits });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

/** Connects, sends no more than this, and answers when the server has closed the connection. */
async function half(text: string): Promise<{ readonly closed: Promise<void>; readonly socket: Socket }> {
  const socket = connect(server.port, '127.0.0.1');
  sockets.push(socket);
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
  socket.on('error', () => {}).resume();
  await new Promise<void>(resolve => socket.once('connect', resolve));
  if (text !== '') socket.write(text);
  return { closed, socket };
}

test('callers are looked at as often as the limits say, not as seldom as Node does', () => {
  const limits = { patienceMs: 150, checkMs: 20, mostConnections: 8 };
  expect(timeouts(limits)).toMatchObject({ connectionsCheckingInterval: 20, requestTimeout: 150 });
});

const get = async (path: string) => (await fetch(`http://127.0.0.1:${server.port}${path}`)).text();

test.each([
  ['nothing', ''],
  ['half a request line', 'GET /livez HT'],
  ['headers without an end', 'GET /livez HTTP/1.1\r\nhost: x\r\n'],
  ['a body that never comes', 'POST /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n'],
])('a caller that sends %s is not waited for', async (_, text) => {
  const { closed } = await half(text);
  await closed;
});

test('a check says in its own line alone what somebody has named', async () => {
  const checks = [
    { name: 'manifests', state: 'fail', reason: 'x\x1b[2J\r\nok      rules: y\x9b', remedy: '' },
  ];
  const view = { health: async () => ({ ready: false, checks }) } as unknown as AgentView;
  const other = await serveHttp({ address: '127.0.0.1:0', view, metrics: new Registry() });
  const text = await (await fetch(`http://127.0.0.1:${other.port}/readyz`)).text();
  await other.close();
  expect(text).toBe('fail    manifests: x\\x1b[2J\\x0d\\x0aok      rules: y\\x9b\n');
});

test('a caller that never stops beginning its request is not waited for', async () => {
  const { closed, socket } = await half('GET /livez HTTP/1.1\r\nx: ');
  const drip = setInterval(() => socket.write('y'), 20);
  await closed;
  clearInterval(drip);
});

test('more callers than there is room for push the oldest out, and never keep a probe from its answer', async () => {
  const first = await half('GET ');
  for (let caller = 0; caller < 20; caller++) {
    await half('GET ');
    expect(await get('/livez')).toBe('ok\n');
  }
  await first.closed;
});

test('of requests on end one is answered for a connection, read or not', async () => {
  let asked = 0;
  const view = { health: async () => ({ ready: true, checks: [], asked: ++asked }) } as unknown as AgentView;
  const other = await serveHttp({ address: '127.0.0.1:0', view, metrics: new Registry() });
  const socket = connect(other.port, '127.0.0.1');
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
  socket.on('error', () => {}).resume();
  socket.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1000));
  await closed;
  await other.close();
  expect(asked).toBe(1);
});

test('an answer does not wait for the body of a request', async () => {
  expect(await get('/readyz')).toBe('\n');
  expect(await get('/other')).toContain('/livez');
});
