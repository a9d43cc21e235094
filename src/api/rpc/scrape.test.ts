import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { Counter, Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeCertificate } from '../../../test/support/tls/certificate.ts';
import type { HttpServer } from './listener.ts';
import { serveScrape } from './scrape.ts';

const PATIENT = { timeout: 20_000, interval: 400 };
const TOKEN = 'a token of many letters';
let folder: string;
let server: HttpServer | undefined;
let lines: string[];
const at = (file: string) => join(folder, file);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-scrape-'));
  makeCertificate(at('tls.crt'), at('tls.key'));
  writeFileSync(at('token'), `${TOKEN}\n`);
  lines = [];
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function serve(renewMs?: number): Promise<void> {
  const metrics = new Registry();
  new Counter({ name: 'sluice_commits_total', help: 'x', registers: [metrics] }).inc(7);
  const log = { error: (_: object, text: string) => void lines.push(text) };
  const files = { tlsDir: folder, tokenFile: at('token') };
  server = await serveScrape({ ...files, address: '127.0.0.1:0', metrics, log, ...(renewMs && { renewMs }) });
}

function get(path: string, authorization?: string): Promise<{ status: number; text: string }> {
  const headers = authorization === undefined ? {} : { authorization };
  const to = {
    host: '127.0.0.1',
    port: server!.port,
    path,
    headers,
    agent: false,
    ca: readFileSync(at('tls.crt')),
  };
  return new Promise((resolve, reject) => {
    const request = https.get(to, response => {
      let text = '';
      response.on('data', data => (text += data));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    request.on('error', reject);
  });
}

test('metrics are for who has the token, over TLS', async () => {
  await serve();
  const { status, text } = await get('/metrics', `Bearer ${TOKEN}`);
  expect([status, text]).toEqual([200, expect.stringContaining('sluice_commits_total 7')]);
  expect((await get('/readyz', `Bearer ${TOKEN}`)).status).toBe(404);
});

test.each([
  undefined,
  '',
  'Bearer ',
  `Bearer ${TOKEN}x`,
  `Basic ${TOKEN}`,
  TOKEN,
  `Bearer ${'x'.repeat(4_000)}`,
])('who comes with %s learns nothing, not even what paths there are', async authorization => {
  await serve();
  for (const path of ['/metrics', '/other'])
    expect(await get(path, authorization)).toEqual({
      status: 401,
      text: expect.not.stringContaining('sluice_'),
    });
});

test('a token that is changed counts from the next scrape on, and one that cannot be read lets nobody in', async () => {
  await serve();
  writeFileSync(at('token'), 'another token, as long');
  expect((await get('/metrics', `Bearer ${TOKEN}`)).status).toBe(401);
  expect((await get('/metrics', 'Bearer another token, as long')).status).toBe(200);
  for (const bad of ['', 'short']) {
    writeFileSync(at('token'), bad);
    expect(await get('/metrics', `Bearer ${bad}`)).toMatchObject({ status: 500 });
  }
  expect(lines[0]).toMatch(/token.*has 0 characters: 16 at least/);
});

test.each([
  ['no certificate', 'tls.crt', undefined, /ENOENT/],
  ['no key', 'tls.key', 'x', /PEM|DECODER/],
  ['no token', 'token', '', /0 characters/],
])('nothing is served with %s', async (_, file, text, why) => {
  if (text === undefined) rmSync(at(file));
  else writeFileSync(at(file), text);
  await expect(serve()).rejects.toThrow(why);
});

test('a certificate that is changed is shown to whoever comes next; where it is none, the one from before', async () => {
  await serve(10);
  const before = await shown();
  makeCertificate(at('tls.crt'), at('tls.key'));
  await vi.waitFor(async () => expect(await fingerprint()).not.toBe(before), PATIENT);
  const renewed = await shown();
  writeFileSync(at('tls.crt'), 'none');
  await vi.waitFor(() => expect(lines[0]).toMatch(/the certificate of 127.0.0.1:0 stays as it is/), PATIENT);
  expect(await shown()).toBe(renewed);
});

test('a flood of connections is refused before it costs a handshake', async () => {
  await serve();
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () =>
      fingerprint().then(
        () => true,
        () => false,
      ),
    ),
  );
  expect(outcomes.filter(Boolean).length).toBeLessThanOrEqual(15);
  expect(outcomes.filter(Boolean).length).toBeGreaterThanOrEqual(5);
});

test.each([
  ['without the token', ''],
  ['with it', `Authorization: Bearer ${TOKEN}\r\n`],
])('requests without end on one connection are one: %s', async (_, header) => {
  await serve();
  const count = vi.spyOn(Registry.prototype, 'metrics');
  const said = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port: server!.port, rejectUnauthorized: false }, () =>
      socket.write(`GET /metrics HTTP/1.1\r\nHost: a\r\n${header}\r\n`.repeat(20)),
    );
    socket.on('data', data => (text += data));
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
  expect(said.match(/HTTP\/1\.1 (200|401)/g)).toHaveLength(1);
  expect(count.mock.calls.length).toBe(header === '' ? 0 : 1);
  count.mockRestore();
});

test('a caller that never begins TLS does not keep the server from its end', async () => {
  await serve();
  const socket = connectTcp(server!.port, '127.0.0.1');
  await new Promise(resolve => socket.once('connect', resolve));
  await server!.close();
  server = undefined;
  socket.destroy();
});

/** A client that comes too often is refused and has to retry. */
const shown = () => vi.waitFor(fingerprint, PATIENT);

function fingerprint(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: server!.port, rejectUnauthorized: false }, () => {
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      resolve(fingerprint256);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });
}
