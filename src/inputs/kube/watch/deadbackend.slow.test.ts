/** A load balancer that survives while the API server behind it dies: its connections stay open, and get no answers. */
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeApiServer } from '../../../../bench/fakeapiserver.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import { watchSeconds } from './reflector.ts';
import { watchCluster } from './source.ts';

let server: FakeApiServer;
let balancer: net.Server;
/** The two sockets of each open connection through the load balancer. */
let pairs: net.Socket[][];
let accepted: number;

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
  [pairs, accepted] = [[], 0];
  const { port } = new URL((await server.access()).server);
  balancer = net.createServer(client => {
    accepted++;
    const backend = net.connect(Number(port), '127.0.0.1');
    pairs.push([client, backend]);
    client.pipe(backend).pipe(client);
    for (const socket of [client, backend]) socket.on('error', () => {});
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
});

afterEach(async () => {
  for (const socket of pairs.flat()) socket.destroy();
  balancer.close();
  await server.stop();
});

/** The server behind every connection is gone without a word; another one takes new connections. */
function die(): void {
  for (const [client, backend] of pairs) {
    client!.unpipe(backend!);
    backend!.unpipe(client!);
    backend!.destroy();
    client!.resume(); // TCP still answers the client's probes, and takes what it sends.
  }
}

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 5));
}

function follow(canStream: boolean) {
  server.canStream = canStream;
  const events: ClusterEvent[] = [];
  const access = async () => ({
    ...(await server.access()),
    server: `http://127.0.0.1:${(balancer.address() as net.AddressInfo).port}`,
  });
  const listener = {
    onEvents: (more: readonly ClusterEvent[]) => void events.push(...more),
    onSource: () => {},
    onProblems: () => {},
  };
  const watch = watchCluster(access, listener, { patience: { overdueMs: 100 }, watchSeconds: () => 1 });
  return { watch, hasHeardOf: (name: string) => events.some(({ key }) => key === name) };
}

test.each([
  ['a list that goes on as a watch', true],
  ['a list in pages', false],
])('after %s, a watch through it is asked anew, and what was missed is heard', async (_, canStream) => {
  const { watch, hasHeardOf } = follow(canStream);
  try {
    await watch.ready;
    die();
    server.put(namespace('missed'));
    await until(() => hasHeardOf('missed'));
    // A watch is followed by the next one.
    await until(() => server.requests.filter(({ query }) => query.resourceVersion !== undefined).length > 20);
    die();
    server.put(namespace('missed-too'));
    await until(() => hasHeardOf('missed-too'));
  } finally {
    await watch.close();
  }
});

test('a watch that ends in order is asked anew on its connection', async () => {
  const { watch } = follow(false);
  try {
    await watch.ready;
    await until(() => server.watchCount > 0);
    const before = { accepted, requests: server.requests.length };
    await until(() => server.requests.length > before.requests + 16);
    expect(accepted).toBe(before.accepted);
  } finally {
    await watch.close();
  }
});

test('watches are short in small clusters, and all agents together ask for no more than a hundred a second', () => {
  expect(watchSeconds(3)).toBe(15);
  expect(watchSeconds(180)).toBeLessThan(17);
  for (const nodes of [200, 1000, 5000]) expect((8 * nodes) / watchSeconds(nodes)).toBeCloseTo(100, 5);
  expect(watchSeconds(100_000)).toBe(600);
});
