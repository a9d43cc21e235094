import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { sendDenials } from './telemetry.ts';

/** The library sends once a second. */
const PATIENT = { timeout: 20_000 };
const DENIAL: Denial = {
  number: 1,
  atMs: 1_700_000_000_000,
  lastMs: 1_700_000_000_000,
  times: 1,
  from: { address: '10.0.0.1' as Address, pod: 'guest/visitor' },
  to: { address: '10.0.0.2' as Address, pod: 'shop/db' },
  protocol: 'TCP',
  port: 5432,
  cause: { kind: 'policy', direction: 'ingress', reason: 'no rule allows it' },
};

let server: Server;
let bodies: string[];
let status: number;
let isEndless: boolean;
let lines: string[];
const followers = new Set<(denial: Denial) => void>();

beforeEach(async () => {
  [bodies, lines, status, isEndless] = [[], [], 200, false];
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(`${request.url} ${body}`);
    response.writeHead(status, { 'content-type': 'application/json' });
    if (isEndless) response.write('{');
    else response.end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

function send(answerMs?: number) {
  const note = (level: string) => (_: object, text: string) => void lines.push(`${level}: ${text}`);
  const follow = (follower: (denial: Denial) => void) => {
    followers.add(follower);
    return () => followers.delete(follower);
  };
  const log = { info: note('info'), warn: note('warn') };
  return sendDenials({ node: 'n1', follow, log, ...(answerMs && { answerMs }) });
}

const deny = () => followers.forEach(follower => void follower(DENIAL));

test('a denied connection is a log record of the node, with both ends by name', async () => {
  const sending = send();
  deny();
  await expect.poll(() => bodies.length, PATIENT).toBe(1);
  const [path, body] = [bodies[0]!.slice(0, 8), JSON.parse(bodies[0]!.slice(9))];
  expect(path).toBe('/v1/logs');
  const [{ resource, scopeLogs }] = body.resourceLogs;
  expect(resource.attributes).toContainEqual({ key: 'k8s.node.name', value: { stringValue: 'n1' } });
  const [record] = scopeLogs[0].logRecords;
  expect(record).toMatchObject({ eventName: 'sluice.denied', timeUnixNano: '1700000000000000000' });
  expect(record.body.stringValue).toBe('guest/visitor -> shop/db:5432/TCP: no rule allows it');
  const attributes = record.attributes.map(({ key, value }: { key: string; value: object }) => [
    key,
    Object.values(value)[0],
  ]);
  expect(Object.fromEntries(attributes)).toEqual({
    'source.address': '10.0.0.1',
    'sluice.source.pod': 'guest/visitor',
    'destination.address': '10.0.0.2',
    'destination.port': 5432,
    'sluice.destination.pod': 'shop/db',
    'network.transport': 'tcp',
    'network.type': 'ipv4',
    'sluice.cause': 'policy',
    'sluice.direction': 'ingress',
  });
  await sending.close();
  expect(followers.size).toBe(0);
});

test('what waits is sent before the end', async () => {
  const sending = send();
  deny();
  await sending.close();
  expect(bodies).toHaveLength(1);
});

test('a collector that refuses is said once, and so is one that takes again', async () => {
  status = 400;
  const sending = send();
  for (const seen of [1, 2]) {
    deny();
    await expect.poll(() => bodies.length, PATIENT).toBe(seen);
  }
  await expect
    .poll(() => lines, PATIENT)
    .toEqual([expect.stringMatching(/^warn: denied connections do not reach the collector/)]);
  status = 200;
  deny();
  await expect
    .poll(() => lines[1], PATIENT)
    .toBe('info: denied connections reach the collector of OpenTelemetry again');
  await sending.close();
});

test('a collector whose answer never ends is said, and sent to again', async () => {
  isEndless = true;
  const sending = send(200);
  deny();
  await expect.poll(() => lines, PATIENT).toEqual([expect.stringContaining('its answer does not end')]);
  isEndless = false;
  deny();
  await expect.poll(() => lines.at(-1), PATIENT).toMatch(/reach the collector .* again/);
  await sending.close();
});
