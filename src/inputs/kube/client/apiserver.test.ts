/** The parts of HTTP that a fake server without TLS cannot show. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeApiServer } from '../../../../test/support/api/server.ts';
import { makeCertificate } from '../../../../test/support/tls/certificate.ts';
import type { Access } from './access.ts';
import { ApiServer } from './apiserver.ts';

let folder: string;
let server: https.Server;
let url: string;
const apis: ApiServer[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
  for (const name of ['server', 'other'])
    makeCertificate(join(folder, `${name}.crt`), join(folder, `${name}.key`));
  server = https.createServer({ key: pem('server.key'), cert: pem('server.crt') }, (request, response) => {
    response.end(`hello ${request.headers['x-user']}`);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await Promise.all(apis.splice(0).map(api => api.close()));
  await new Promise(resolve => server.close(resolve));
  rmSync(folder, { recursive: true });
});

function pem(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

function get(load: () => Promise<Access>): () => Promise<string> {
  const api = new ApiServer(load);
  apis.push(api);
  return async () => {
    let text = '';
    for await (const chunk of await api.get('/', {}, AbortSignal.timeout(5_000))) text += Buffer.from(chunk);
    return text;
  };
}

test('ApiServer trusts the given authority alone, and sends the given headers', async () => {
  const read = get(async () => ({ server: url, ca: pem('server.crt'), headers: { 'x-user': 'me' } }));
  expect(await read()).toBe('hello me');
});

test('ApiServer refuses a server that the given authority did not sign', async () => {
  const read = get(async () => ({ server: url, ca: pem('other.crt'), headers: {} }));
  await expect(read()).rejects.toMatchObject({ code: 'unreachable' });
});

test('ApiServer expects the name that it is told to', async () => {
  const access = { server: url, ca: pem('server.crt'), headers: {} };
  const right = get(async () => ({ ...access, servername: 'kubernetes' }));
  expect(await right()).toBe('hello undefined');
  const wrong = get(async () => ({ ...access, servername: 'example' }));
  await expect(wrong()).rejects.toMatchObject({ code: 'unreachable' });
});

test('ApiServer reads the authority again after a certificate that it does not trust', async () => {
  let loads = 0;
  const read = get(async () => ({
    server: url,
    ca: pem(loads++ === 0 ? 'other.crt' : 'server.crt'),
    headers: {},
  }));
  await expect(read()).rejects.toMatchObject({ code: 'unreachable' });
  expect(await read()).toBe('hello undefined');
});

test.each([
  ['as long as the server asks', 7, 7_000],
  ['half a minute where it asks for an hour', 3_600, 30_000],
  ['half a minute where it asks for longer than a timer can wait', 1e12, 30_000],
  ['no longer than without a word where it asks for less than nothing', -5, 0],
])('ApiServer leaves the server alone for %s', async (_, retryAfter, retryAfterMs) => {
  const busy = new FakeApiServer();
  await busy.start();
  busy.fault = () => ({ type: 'status', code: 503, retryAfter });
  try {
    await expect(get(busy.access)()).rejects.toMatchObject({ code: 503, retryAfterMs });
  } finally {
    await busy.stop();
  }
});

test.each([
  ['the server', '{"kind":"Status","code":404,"message":"it is gone"}', 'it is gone'],
  ['a gateway before it', '{"message":"no Route matched"}', undefined],
  ['a balancer before it', '404 page not found', undefined],
])('ApiServer tells a refusal in the words of %s from others', async (_, body, sentence) => {
  const gateway = http.createServer((_request, response) => void response.writeHead(404).end(body));
  await new Promise<void>(resolve => gateway.listen(0, '127.0.0.1', resolve));
  const { port } = gateway.address() as AddressInfo;
  try {
    const read = get(async () => ({ server: `http://127.0.0.1:${port}`, headers: {} }));
    await expect(read()).rejects.toMatchObject({ code: 404, sentence });
  } finally {
    gateway.closeAllConnections();
    await new Promise(resolve => gateway.close(resolve));
  }
});

test('ApiServer says what keeps it from reading its access, and tries again', async () => {
  let loads = 0;
  const read = get(async () => {
    if (loads++ === 0) throw new Error('no token yet');
    return { server: url, ca: pem('server.crt'), headers: {} };
  });
  await expect(read()).rejects.toMatchObject({ code: 'unreachable', message: 'no token yet' });
  expect(await read()).toBe('hello undefined');
});

test('ApiServer gives an answer up that comes byte by byte without end, and is no watch', async () => {
  const slow = http.createServer((_, response) => {
    const dripping = setInterval(() => response.write(' '), 5);
    response.on('close', () => clearInterval(dripping));
  });
  await new Promise<void>(resolve => slow.listen(0, '127.0.0.1', resolve));
  const access = { server: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` };
  const api = new ApiServer(async () => access as Access, { wholeMs: 50 });
  apis.push(api);
  const reading = (async () => {
    for await (const _ of await api.get('/api/v1/pods', {}, AbortSignal.timeout(5_000))) {
      // An answer without a mark of its end.
    }
  })();
  try {
    await expect(reading).rejects.toThrow('an answer has not ended within 0.05 s');
  } finally {
    slow.closeAllConnections();
    await new Promise(resolve => slow.close(resolve));
  }
});
