import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { askAgent } from './askagent.ts';
import { DEFAULT_SOCKET } from './state.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-askagent-'));
writeFileSync(join(folder, 'file'), '');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const refused = (socket: string, code: string) =>
  askAgent(socket, () => Promise.reject(new Error(`connect ${code} ${socket}`)));

test.each([
  [at('gone.sock'), `no agent at ${at('gone.sock')}: there is no such socket`],
  [at('file'), `no agent at ${at('file')}: no process listens there`],
])('nobody is told to name a socket who has named %s', async (socket, message) => {
  await expect(askAgent(socket, agent => agent.status())).rejects.toMatchObject({ message });
});

test.each([
  [DEFAULT_SOCKET, 'ENOENT', `no agent on this node (${DEFAULT_SOCKET}); pass --socket if it is elsewhere`],
  [
    DEFAULT_SOCKET,
    'EACCES',
    `only root may ask the agent (${DEFAULT_SOCKET}); pass --socket if it is elsewhere`,
  ],
  ['/own.sock', 'EACCES', 'only root may ask the agent (/own.sock)'],
  ['/own.sock', 'EPIPE', 'the agent (/own.sock) cannot answer: connect EPIPE /own.sock'],
])('of %s and %s it is said what that means', async (socket, code, message) => {
  await expect(refused(socket, code)).rejects.toMatchObject({ message });
});
