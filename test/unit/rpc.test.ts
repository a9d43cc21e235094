/** The socket as a stranger sees it: a client that was written from the wire table alone, and worse. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StatusKeeper } from '../../src/agent/status.ts';
import { versioned } from '../../src/answers/schema.ts';
import { CHECK_NAMES } from '../../src/api/health/check.ts';
import { NO_NAMES } from '../../src/api/health/namescheck.ts';
import { connectAgent } from '../../src/api/rpc/client.ts';
import { type RpcServer, serveRpc } from '../../src/api/rpc/server.ts';
import { SocketInUse } from '../../src/api/rpc/socketfile.ts';
import { clusterInForce, clusterOf } from '../../src/cli/sources/agent.ts';
import { type Address, parseAddress } from '../../src/model/address.ts';
import { ClusterState, type Pod, type PodKey } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { Policy } from '../../src/model/policy.ts';
import { EVERYTHING } from '../../src/model/selector.ts';
import { DnsCache, type DnsRecord } from '../../src/names/dnscache.ts';
import { HEALTHY_HOST } from '../support/agent/healthyhost.ts';
import { testView } from '../support/agent/view.ts';
import { wrongWith } from '../support/questions/schema.ts';

const IDENTITY = { networkNamespace: 'net:[1]', cutsConnections: true };
const POD: Pod = {
  key: 'shop/web',
  namespace: 'shop',
  name: 'web',
  labels: {},
  node: 'one',
  addresses: [parseAddress('10.0.0.1')!, parseAddress('fd00::1')!],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
};
const OPENED: Flow = { from: POD.addresses[0]!, to: parseAddress('10.0.0.9')!, protocol: 'UDP', port: 53 };
const POLICY: Policy = {
  id: 'NetworkPolicy shop/allow',
  kind: 'NetworkPolicy',
  name: 'shop/allow',
  tier: 'networkpolicy',
  order: 0,
  subject: { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING },
  ingress: [],
};

let folder: string;
let socket: string;
let server: RpcServer | undefined;
let host: typeof HEALTHY_HOST;
let resyncs: number;
/** How often health was looked at. */
let looks: number;
let facts: DnsCache | undefined;
let keeper: StatusKeeper;
let podsInForce: Map<PodKey, Pod | undefined>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-rpc-'));
  socket = join(folder, 'sluice.sock');
  host = HEALTHY_HOST;
  resyncs = 0;
  looks = 0;
  podsInForce = new Map();
  facts = undefined;
  keeper = new StatusKeeper('one');
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function followed(read = false): void {
  const cluster = new ClusterState();
  cluster.apply({ type: 'pod', key: POD.key, value: POD });
  cluster.apply({ type: 'policy', key: POLICY.id, value: POLICY });
  keeper.noted([{ type: 'pod', key: POD.key, value: POD }]);
  keeper.committing();
  keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: read, waitingPods: new Set() });
}

function inForce(): void {
  keeper.setSynced();
  followed();
}

async function serve(): Promise<void> {
  const agent = {
    podsInForce,
    requestResync: () => {
      resyncs++;
      setTimeout(() => followed(true), 5);
    },
  };
  server = await serveRpc({
    socket,
    view: testView({
      identity: IDENTITY,
      status: keeper,
      agent,
      readHost: async () => host,
      openConntrack: () => ({ read: async (_, wanted) => void wanted(OPENED), close: () => undefined }),
      dns: {
        status: () => {
          looks++;
          return NO_NAMES;
        },
        latest: async () => facts,
        totals: () => ({ restarts: 0, waitBucketsUs: [] }),
      },
    }),
    watchMs: 10,
  });
}

/** Protobuf by hand: a field of a wire type is its number and type in a varint, then its value. */
const lengthDelimited = (field: number, bytes: Buffer) =>
  Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
const text = (field: number, value: string) => lengthDelimited(field, Buffer.from(value));

interface Field {
  readonly field: number;
  readonly value: Buffer | number;
}

/** Varints (0) and length-delimited fields (2): the only wire types that KNI's answers have. */
function decode(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if ((tag & 7) === 0) fields.push({ field: tag >> 3, value: varint() });
    else if ((tag & 7) === 2) {
      const length = varint();
      fields.push({ field: tag >> 3, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw new Error(`wire type ${tag & 7}`);
  }
  return fields;
}

const all = (fields: readonly Field[], field: number) =>
  fields.filter(found => found.field === field).map(({ value }) => value as Buffer);
const entries = (fields: readonly Field[], field: number) =>
  all(fields, field).map(entry => {
    const parts = decode(entry);
    return [String(all(parts, 1)[0] ?? ''), all(parts, 2)[0] ?? Buffer.alloc(0)] as const;
  });
const strings = (fields: readonly Field[], field: number) =>
  Object.fromEntries(entries(fields, field).map(([key, value]) => [key, String(value)]));

/** One call with bytes as they are. */
function call(path: string, request: Buffer): Promise<Buffer> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
  });
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      request,
      { deadline: Date.now() + 10_000 },
      (error, answer) => {
        client.close();
        if (error) reject(error);
        else resolve(answer!);
      },
    );
  });
}

describe('kni.KNI by its wire alone', () => {
  test('QueryNodeNetworks says that the network is ready, check by check', async () => {
    inForce();
    await serve();
    const [network] = all(decode(await call('/kni.KNI/QueryNodeNetworks', Buffer.alloc(0))), 1);
    const fields = decode(network!);
    expect(String(all(fields, 1)[0])).toBe('pods');
    expect(fields.find(({ field }) => field === 2)?.value).toBe(1);
    expect(strings(fields, 3)).toMatchObject({ node: 'one', 'check.ip-forward': 'ok' });
    expect(strings(fields, 3)).not.toHaveProperty('reason');
  });

  test('QueryNodeNetworks says why the network is not ready, and what to do', async () => {
    inForce();
    host = { ...HEALTHY_HOST, forwarding: { ip: { value: false }, ip6: { value: true } } };
    await serve();
    const [network] = all(decode(await call('/kni.KNI/QueryNodeNetworks', Buffer.alloc(0))), 1);
    const fields = decode(network!);
    // proto3 may leave a false bool out.
    expect(fields.find(({ field }) => field === 2)?.value ?? 0).toBe(0);
    expect(strings(fields, 3).reason).toContain('net.ipv4.ip_forward is 0');
    expect(strings(fields, 3)['check.ip-forward.remedy']).toBe('sysctl -w net.ipv4.ip_forward=1');
  });

  test('QueryPodNetwork tells addresses, families, policies and since when', async () => {
    inForce();
    await serve();
    const answer = decode(
      await call('/kni.KNI/QueryPodNetwork', Buffer.concat([text(1, 'web'), text(3, 'shop')])),
    );
    const [[name, bytes]] = entries(answer, 1) as [readonly [string, Buffer]];
    const config = decode(bytes);
    expect(name).toBe('eth0');
    expect(all(config, 1).map(String)).toEqual(['10.0.0.1', 'fd00::1']);
    expect(strings(config, 3)).toEqual({ families: 'IPv4,IPv6' });
    const extradata = strings(answer, 2);
    expect(extradata).toMatchObject({ policies: 'shop/allow', programmed: 'true' });
    expect(Date.parse(extradata.programmedSince!)).toBeGreaterThan(Date.now() - 60_000);
  });

  test.each([
    ['of a pod that is not here', [text(1, 'db'), text(3, 'shop')], 5, 'no pod shop/db'],
    ['without a name', [text(3, 'shop')], 3, 'both needed'],
  ])('QueryPodNetwork %s is refused', async (_, parts, code, details) => {
    inForce();
    await serve();
    await expect(call('/kni.KNI/QueryPodNetwork', Buffer.concat(parts))).rejects.toMatchObject({
      code,
      details: expect.stringContaining(details),
    });
  });

  test('SetupNodeNetwork answers when the kernel was read back, each time', async () => {
    inForce();
    await serve();
    expect(keeper.status().readAtMs).toBeUndefined();
    for (const times of [1, 2]) {
      expect(await call('/kni.KNI/SetupNodeNetwork', Buffer.alloc(0))).toHaveLength(0);
      expect(resyncs).toBe(times);
      expect(keeper.status().readAtMs).toBeGreaterThan(0);
    }
  });

  test.each(['CreateNetwork', 'DeleteNetwork', 'AttachInterface', 'DetachInterface'])(
    '%s is not implemented, and says so in a sentence',
    async method => {
      await serve();
      const request = Buffer.concat([text(1, 'web'), text(3, 'shop')]);
      await expect(call(`/kni.KNI/${method}`, request)).rejects.toMatchObject({
        code: 12,
        details: expect.stringMatching(/^Sluice .* no .*: it enforces policy/),
      });
    },
  );
});

describe('grpc.health.v1.Health', () => {
  const check = async (service: string) =>
    decode(await call('/grpc.health.v1.Health/Check', text(1, service)));

  test.each(['', 'kni.KNI', 'sluice.v1.Sluice'])('Check of "%s" follows readiness', async service => {
    await serve();
    expect(await check(service)).toEqual([{ field: 1, value: 2 }]);
    inForce();
    expect(await check(service)).toEqual([{ field: 1, value: 1 }]);
  });

  test('Check of a service that is not here is NOT_FOUND', async () => {
    await serve();
    await expect(check('other')).rejects.toMatchObject({ code: 5 });
  });

  function watch(service: string) {
    const bytes = (value: Buffer) => value;
    const method = {
      path: '/grpc.health.v1.Health/Watch',
      requestStream: false,
      responseStream: true,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    const Watcher = makeGenericClientConstructor({ watch: method }, 'Health');
    const client = new Watcher(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
    });
    const told: unknown[] = [];
    const stream = client.watch!(text(1, service));
    stream.on('data', (answer: Buffer) => told.push(decode(answer)[0]?.value ?? 0));
    stream.on('error', () => {});
    return {
      told,
      stop: () => {
        stream.cancel();
        client.close();
      },
    };
  }

  test('Watch tells the state at once, then its changes and nothing else', async () => {
    await serve();
    const { told, stop } = watch('');
    await expect.poll(() => told).toEqual([2]);
    inForce();
    await expect.poll(() => told).toEqual([2, 1]);
    const before = looks;
    await expect.poll(() => looks).toBeGreaterThan(before + 2);
    keeper.failed(new Error('ENOMEM'));
    await expect.poll(() => told).toEqual([2, 1, 2]);
    stop();
  });

  test('Watch of a service that is not here stays open and says SERVICE_UNKNOWN', async () => {
    await serve();
    const { told, stop } = watch('other');
    await expect.poll(() => told).toEqual([3]);
    stop();
  });
});

describe('sluice.v1.Sluice', () => {
  test('Status tells what `sluice status` prints', async () => {
    inForce();
    keeper.onProblems([
      { severity: 'error', object: 'NetworkPolicy shop/x', message: 'is wrong', effect: 'it denies' },
    ]);
    await serve();
    const client = connectAgent(socket);
    const status = await client.status();
    client.close();
    expect(status).toMatchObject({ node: 'one', ready: true, synced: true, pending_events: 0 });
    expect(status).toMatchObject({ network_namespace: 'net:[1]', cuts_connections: true });
    expect(status.checks).toHaveLength(CHECK_NAMES.length);
    expect(status.denies_unknown_pods).toBe(false);
    expect(status.objects).toEqual(keeper.status().objects);
    expect(status.totals).toEqual(keeper.status().totals);
    expect(status.problems[0]).toMatchObject({ object: 'NetworkPolicy shop/x', severity: 'error' });
    expect(status.started_at_ms).toBeGreaterThan(1_600_000_000_000);
  });

  test('State gives back the whole cluster', async () => {
    inForce();
    await serve();
    const client = connectAgent(socket);
    const objects = await client.state();
    client.close();
    expect(objects.map(({ type, json }) => [type, JSON.parse(json)])).toEqual([
      ['pod', POD],
      ['policy', POLICY],
    ]);
  });

  test('State says of a policy what has become of it, also where nothing of it is in force yet', async () => {
    inForce();
    const coming = 'NetworkPolicy shop/coming' as const;
    const waits = { kind: 'pending', sinceMs: 0 } as const;
    keeper.committing([
      { ...waits, id: POLICY.id, change: 'edit' },
      { ...waits, id: coming, change: 'new' },
    ]);
    await serve();
    const client = connectAgent(socket);
    const objects = await client.state();
    client.close();
    const policies = objects.filter(({ type }) => type === 'policy');
    expect(policies.map(({ key, json, statuses }) => [key, json !== 'null', statuses])).toEqual([
      [POLICY.id, true, [expect.objectContaining({ policy: POLICY.id, status: 'pending' })]],
      [coming, false, [expect.objectContaining({ reason: expect.stringContaining('nothing of it') })]],
    ]);
    // `sluice inspect dump` writes them as they come over the wire.
    const agent = { status: {}, state: JSON.parse(JSON.stringify(objects)) };
    const dump = { at: '2026-01-01T00:00:00Z', agent, kernel: { missing: 'a test' } };
    expect(wrongWith(versioned('Dump', dump) as { kind: string })).toEqual([]);
  });

  test('State says beside a pod that waits what the rules have of it, whether it has come, changed or gone', async () => {
    const other = (name: string): Pod => ({
      ...POD,
      key: `shop/${name}`,
      name,
      node: 'two',
      labels: { app: 'old' },
    });
    podsInForce.set(POD.key, { ...POD, labels: { app: 'old' } });
    podsInForce.set('shop/gone', other('gone'));
    podsInForce.set('shop/came-and-went', undefined);
    inForce();
    await serve();
    const client = connectAgent(socket);
    const [now, before] = [await clusterOf(client), await clusterInForce(client)];
    podsInForce.set(POD.key, undefined);
    const beforeIt = await clusterInForce(client);
    client.close();
    expect([...now.pods]).toEqual([[POD.key, POD]]);
    const gone = ['shop/gone', other('gone')];
    expect([...before.pods]).toEqual([[POD.key, { ...POD, labels: { app: 'old' } }], gone]);
    expect([...beforeIt.pods]).toEqual([gone]);
    expect(before.policies.size).toBe(1);
  });

  test('State sends a namespace as the rules have it once, whichever of its pods wait', async () => {
    const labels = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`label-${i}`, 'x'.repeat(63)]));
    const namespaces = ['shop', 'far'].map(name => ({ name, labels: { ...labels, name } }));
    const pods = Array.from({ length: 100 }, (_, i) => {
      const namespaceInForce = namespaces[i % 2]!;
      const [namespace, name] = [namespaceInForce.name, `pod-${i}`];
      return { ...POD, key: `${namespace}/${name}` as PodKey, namespace, name, namespaceInForce };
    });
    for (const pod of pods) podsInForce.set(pod.key, pod);
    inForce();
    await serve();
    const client = connectAgent(socket);
    const [state, { pods: before }] = [await client.state(), await clusterInForce(client)];
    client.close();
    expect(pods.map(({ key }) => before.get(key))).toEqual(pods);
    expect(JSON.stringify(state).split('label-99').length - 1).toBe(namespaces.length);
  });

  test('Status says who opened the connections that fill the table, once that is read', async () => {
    inForce();
    host = { ...HEALTHY_HOST, conntrack: { value: { count: 90, max: 100 } } };
    await serve();
    const client = await connectAgent(socket);
    const reason = async () =>
      (await client.status()).checks.find(({ name }) => name === 'conntrack-fill')!.reason;
    await reason();
    expect(await reason()).toBe(
      '90 of 100 entries (90 %); shop/web opened 1, the node and others elsewhere opened 0',
    );
    client.close();
  });

  test('Status tells of the pods that wait, and the node stays ready', async () => {
    inForce();
    keeper.noted([{ type: 'pod', key: 'shop/far' }]);
    keeper.committing();
    const { cluster } = keeper;
    const waitingPods = new Set<PodKey>(['shop/far']);
    keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: false, waitingPods });
    await serve();
    const client = connectAgent(socket);
    const status = await client.status();
    client.close();
    expect(status).toMatchObject({ ready: true, pending_events: 0, lag_ms: 0, waiting_pods: 1 });
    expect(status.waiting_ms).toBeGreaterThan(0);
  });
});

test('Names tells what holds now, and of one address what held, each fact as it is', async () => {
  inForce();
  await serve();
  const client = connectAgent(socket);
  expect(await client.names()).toEqual([]);
  const nowMs = Date.now();
  const fact = (address: string, more: Partial<DnsRecord>): DnsRecord => ({
    pod: 'shop/web',
    name: 'www.example.org',
    address: address as Address,
    toldMs: nowMs - 1_000,
    untilMs: nowMs + 60_000,
    ...more,
  });
  const holds = fact('192.0.2.1', { from: '10.1.0.53' as Address });
  const before = fact('fd00::2', { name: '', oneOf: ['*.example.org', 'a.example'] });
  const ended = fact('192.0.2.3', { untilMs: nowMs - 1 });
  facts = new DnsCache();
  facts.record([holds, before, ended]);
  expect(await client.names()).toEqual([holds, before]);
  expect(await client.names('192.0.2.3' as Address)).toEqual([ended]);
  expect(await client.names('192.0.2.9' as Address)).toEqual([]);
  client.close();
});

test('State of a large cluster leaves no listener behind with each wait for its reader', async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(`${warning.name}: ${warning.message}`);
  process.on('warning', note);
  const cluster = new ClusterState();
  for (let at = 0; at < 3000; at++) {
    const key = `shop/web-${at}` as const;
    cluster.apply({ type: 'pod', key, value: { ...POD, key, labels: { long: 'x'.repeat(1000) } } });
  }
  keeper.setSynced();
  keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: false, waitingPods: new Set() });
  await serve();
  const client = connectAgent(socket);
  expect(await client.state()).toHaveLength(3000);
  client.close();
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

describe('the socket', () => {
  test('is for its owner alone, and leaves nothing else behind', async () => {
    const before = process.umask(0);
    try {
      await serve();
    } finally {
      process.umask(before);
    }
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['sluice.sock']);
  });

  test('of a dead agent is replaced', async () => {
    const dead = createServer();
    await new Promise<void>(resolve => dead.listen(join(folder, 'bound'), resolve));
    const { renameSync } = await import('node:fs');
    renameSync(join(folder, 'bound'), socket);
    await new Promise(resolve => dead.close(resolve));
    expect(existsSync(socket)).toBe(true);
    inForce();
    await serve();
    expect((await call('/kni.KNI/QueryNodeNetworks', Buffer.alloc(0))).length).toBeGreaterThan(0);
  });

  test('that is no socket at all is replaced too', async () => {
    writeFileSync(socket, 'left behind');
    chmodSync(socket, 0o644);
    await serve();
    expect(statSync(socket).isSocket()).toBe(true);
  });

  test('of a live agent is refused, and the live one goes on', async () => {
    inForce();
    await serve();
    const first = server!;
    await expect(serve()).rejects.toBeInstanceOf(SocketInUse);
    server = first;
    expect((await call('/kni.KNI/QueryNodeNetworks', Buffer.alloc(0))).length).toBeGreaterThan(0);
  });

  test('is gone after the end', async () => {
    await serve();
    await server!.close();
    expect(readdirSync(folder)).toEqual([]);
    server = undefined;
  });

  test('stays where a successor has taken its place', async () => {
    await serve();
    rmSync(socket);
    writeFileSync(socket, 'the successor');
    await server!.close();
    expect(existsSync(socket)).toBe(true);
    server = undefined;
  });

  test('with a path that no socket can have is refused by name', async () => {
    socket = join(folder, 'x'.repeat(100));
    await expect(serve()).rejects.toThrow(/longer than 107 bytes/);
  });
});

describe('the server survives', () => {
  const answers = async () => (await call('/kni.KNI/QueryNodeNetworks', Buffer.alloc(0))).length;

  beforeEach(async () => {
    inForce();
    await serve();
  });

  test('a message that is no protobuf', async () => {
    const garbage = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x07, 0x0a, 0xff]);
    await expect(call('/kni.KNI/QueryPodNetwork', garbage)).rejects.toHaveProperty('code');
    expect(await answers()).toBeGreaterThan(0);
  });

  test('a message that is too large', async () => {
    const large = Buffer.alloc(2 * 1024 * 1024);
    await expect(call('/kni.KNI/AttachInterface', large)).rejects.toMatchObject({ code: 8 });
    expect(await answers()).toBeGreaterThan(0);
  });

  test('a method that is not here', async () => {
    await expect(call('/kni.KNI/Nonsense', Buffer.alloc(0))).rejects.toMatchObject({ code: 12 });
    expect(await answers()).toBeGreaterThan(0);
  });

  test('bytes that are no HTTP/2, and a caller that hangs up', async () => {
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\u0000'.repeat(4096), '']) {
      const raw = connect(socket);
      raw.on('error', () => {});
      await new Promise(resolve => raw.once('connect', resolve));
      await new Promise<void>(resolve => raw.end(bytes, resolve));
      expect(await answers()).toBeGreaterThan(0); // The server has had the bytes by then.
      raw.destroy();
    }
    expect(await answers()).toBeGreaterThan(0);
  });

  test('a frame that promises more than it holds', async () => {
    const session = connectHttp2('http://localhost', { createConnection: () => connect(socket) });
    session.on('error', () => {});
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: '/kni.KNI/QueryPodNetwork',
      [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
      [constants.HTTP2_HEADER_TE]: 'trailers',
    });
    stream.on('error', () => {});
    stream.end(Buffer.from([0, 0, 0, 0, 50, 1, 2, 3]));
    await new Promise(resolve => stream.once('close', resolve).resume());
    session.destroy();
    expect(await answers()).toBeGreaterThan(0);
  });
});
