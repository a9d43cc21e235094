import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectAgent } from './client.ts';

test('flows() that is ended before anybody reads it is over, whatever the agent does', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-client-'));
  const silent = createServer();
  await new Promise<void>(resolve => silent.listen(join(folder, 'sluice.sock'), resolve));
  const client = connectAgent(join(folder, 'sluice.sock'));
  try {
    const end = new AbortController();
    const flows = client.flows(end.signal);
    end.abort();
    expect(await flows.next()).toEqual({ done: true, value: undefined });
  } finally {
    client.close();
    silent.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** An empty SETTINGS frame of HTTP/2 (RFC 9113 6.5), which is all that a client needs to be connected. */
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

test.each([
  ['before anybody connects', undefined],
  ['after somebody has connected', SETTINGS],
])('a client that follows an agent learns that its process is stopped, %s', async (_, first) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-client-'));
  // The kernel accepts connections for a process that is stopped, and nobody reads them.
  const stopped = createServer(connection => {
    connection.on('error', () => undefined).pause();
    if (first !== undefined) connection.write(first);
  });
  await new Promise<void>(resolve => stopped.listen(join(folder, 'sluice.sock'), resolve));
  const client = connectAgent(join(folder, 'sluice.sock'), 100);
  try {
    await expect(client.drops(true).next()).rejects.toThrow(/UNAVAILABLE|it does not answer/);
    await expect(client.flows(new AbortController().signal).next()).rejects.toThrow(
      /UNAVAILABLE|it does not answer/,
    );
  } finally {
    client.close();
    stopped.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
