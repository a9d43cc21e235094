import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveHttp } from './http.ts';
import { keepServing } from './keepserving.ts';
import type { AgentView } from './view.ts';

const VIEW = { health: async () => ({ ready: true, checks: [] }) } as unknown as AgentView;

let squatter: Server;
let address: string;
let lines: string[];

beforeEach(async () => {
  squatter = createServer(socket => {
    socket.resume().end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 6\r\n\r\nmine!\n');
  }).listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  address = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
  lines = [];
});

afterEach(() => squatter.close());

function serve() {
  const note = (level: string) => (_: object, text: string) => void lines.push(`${level}: ${text}`);
  const log = { info: note('info'), error: note('error') };
  return keepServing({
    what: 'health and metrics',
    address,
    listen: () => serveHttp({ address, view: VIEW, metrics: new Registry() }),
    log,
    retry: { firstMs: 5, mostMs: 20 },
  });
}

const live = () => fetch(`http://${address}/livez`).then(answer => answer.text());

test('a port that another process has is said, and taken as soon as it is free', async () => {
  const serving = await serve();
  expect(lines).toEqual([
    expect.stringMatching(/^error: health and metrics are not served: .*EADDRINUSE.*; tried again$/),
  ]);
  expect(await live()).toBe('mine!\n');
  await new Promise(resolve => squatter.close(resolve));
  await expect.poll(() => live().catch(() => '')).toBe('ok\n');
  expect(lines.at(-1)).toMatch(/^info: health and metrics are served/);
  await serving.close();
  await expect(live()).rejects.toThrow();
});

test('an agent that ends while it waits for its port ends', async () => {
  const serving = await serve();
  await serving.close();
  expect(lines).toHaveLength(1);
});
