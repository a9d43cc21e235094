import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CniRequest } from '../../network/cni/cnirequest.ts';
import { type CniSocket, cniSocketOf, serveCni } from './cnisocket.ts';

let folder: string;
let path: string;
let served: CniSocket;
let asked: CniRequest[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cnisocket-'));
  path = cniSocketOf(join(folder, 'sluice.sock'));
  asked = [];
  served = await serveCni(path, async request => {
    asked.push(request);
    return { output: `{"of":"${request.command}"}`, failed: request.command !== 'ADD' };
  });
});

afterEach(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

const WORDS = 'ADD\0box\0/run/netns/x\0eth0\0K=v\0{}';

function framed(body: string, magic = 'cni1', length = Buffer.byteLength(body)): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(length);
  return Buffer.concat([Buffer.from(magic), size, Buffer.from(body)]);
}

/** The answer to bytes that are sent in pieces of `atOnce`; empty if the connection is closed without one. */
function ask(bytes: Buffer, atOnce = bytes.length, hangUp = false): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(path);
    const chunks: Buffer[] = [];
    socket.on('data', chunk => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    for (let at = 0; at < bytes.length; at += atOnce) socket.write(bytes.subarray(at, at + atOnce));
    if (hangUp) socket.end();
  });
}

test('answers a request however it comes, with its exit code', async () => {
  const answer = 'cni1\0\0\0\x0d\0{"of":"ADD"}';
  expect(await ask(framed(WORDS))).toBe(answer);
  expect(await ask(framed(WORDS), 1)).toBe(answer);
  const [command, container_id, netns, ifname] = ['ADD', 'box', '/run/netns/x', 'eth0'];
  const request = { command, container_id, netns, ifname, args: 'K=v', config: '{}' };
  expect(asked).toEqual([request, request]);
  expect(await ask(framed(WORDS.replace('ADD', 'DEL')))).toBe('cni1\0\0\0\x0d\x01{"of":"DEL"}');
});

test('only its owner may ask', () => {
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.each([
  ['another version', framed(WORDS, 'cni2')],
  ['bytes of something else', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  ['a length that nobody has', framed(WORDS, 'cni1', 0xffffffff)],
  ['too few fields', framed('ADD\0box')],
  ['no field', framed('')],
])('%s ends the connection, and nothing is done', async (_, bytes) => {
  expect(await ask(bytes)).toBe('');
  expect(asked).toEqual([]);
  expect(await ask(framed(WORDS))).toContain('{"of":"ADD"}');
});

test('a caller that hangs up in the middle is forgotten', async () => {
  expect(await ask(framed(WORDS).subarray(0, 20), 20, true)).toBe('');
  expect(await ask(Buffer.alloc(0), 1, true)).toBe('');
  expect(asked).toEqual([]);
});
