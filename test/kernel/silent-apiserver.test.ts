/** An API server whose network goes without a word is known to be lost after 20 s, and costs no request while it is there. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';

const [SERVER, CLIENT] = ['kube-silent-s', 'kube-silent-c'];
const CHILD = join(import.meta.dirname, '../support/api/silentclient.ts');

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' });
}

function removeAll(): void {
  for (const name of [SERVER, CLIENT]) {
    try {
      ip('netns', 'del', name);
    } catch {
      // It was not there.
    }
  }
}

beforeAll(() => {
  removeAll();
  for (const name of [SERVER, CLIENT]) ip('netns', 'add', name);
  ip('link', 'add', 'api0', 'netns', SERVER, 'type', 'veth', 'peer', 'name', 'api1', 'netns', CLIENT);
  for (const [name, link, address] of [
    [SERVER, 'api0', '10.99.0.1/24'],
    [CLIENT, 'api1', '10.99.0.2/24'],
  ] as const) {
    ip('-n', name, 'addr', 'add', address, 'dev', link);
    ip('-n', name, 'link', 'set', link, 'up');
  }
});

afterAll(removeAll);

function inNetns(name: string, role: string) {
  const child = spawn('ip', ['netns', 'exec', name, process.execPath, CHILD, role], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

// TCP itself tries for a quarter of an hour, and the test would be over before.
test('a server that vanished without a word is reported', async () => {
  const server = inNetns(SERVER, 'server');
  const client = inNetns(CLIENT, 'client');
  try {
    expect((await server.lines.next()).value).toBe('listening');
    while ((await client.lines.next()).value !== 'ready'); // where a busy server first seemed lost
    ip('-n', SERVER, 'link', 'set', 'api0', 'down');
    expect((await client.lines.next()).value).toMatch(/^lost \w+/);
  } finally {
    for (const { child } of [server, client]) {
      child.kill();
      await once(child, 'exit');
    }
  }
}, 60_000);
