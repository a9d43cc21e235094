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
