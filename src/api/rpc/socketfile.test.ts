/** What an agent does with a file that it finds in the place of its socket, and where it cannot create one. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveCni } from './cnisocket.ts';
import { serveRpc } from './server.ts';
import { placeSocket } from './socketfile.ts';
import type { AgentView } from './view.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-socketfile-'));
  path = join(folder, 'sluice.sock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const KINDS = [
  ['KNI', () => serveRpc({ socket: path, view: {} as AgentView })],
  ['sluice-cni', () => serveCni(path, async () => ({ output: '', failed: false }))],
] as const;

/** A pipe that listens keeps a process from its end. */
const listening = () => process.getActiveResourcesInfo().filter(kind => kind.startsWith('Pipe')).length;

test.each(KINDS)('%s: a folder in the place of the socket is said, and nothing listens', async (_, serve) => {
  mkdirSync(path);
  const before = listening();
  await expect(serve()).rejects.toThrow(`${path} is a folder, where the socket has to be: remove it`);
  await expect.poll(listening).toBe(before);
  expect(existsSync(path)).toBe(true);
});

test.each(KINDS)(
  '%s: a file or a link that nobody answers at gives way, and where it led stays',
  async (_, serve) => {
    const target = join(folder, 'target');
    writeFileSync(target, 'kept');
    symlinkSync(target, path);
    const served = await serve();
    await served.close();
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(target, 'utf8')).toBe('kept');
  },
);

test('placeSocket() has nobody listen where the place is lost meanwhile', async () => {
  let stopped = 0;
  const listen = async (at: string) => {
    writeFileSync(at, '');
    mkdirSync(path);
  };
  await expect(placeSocket(path, { listen, stop: () => void stopped++ })).rejects.toThrow('EISDIR');
  expect(stopped).toBe(1);
});
