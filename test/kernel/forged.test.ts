/**
 * Whoever reaches a socket of the agent, or is in the place of the runtime, and means no good: nothing is made, nothing
 * is opened, and the agent goes on. One agent bears all of it.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { probe } from '../../bench/lab/probe/probe.ts';
import { cniSocketOf } from '../../src/api/rpc/cnisocket.ts';
import { parseAddress } from '../../src/model/address.ts';
import { ownNamespacePath } from '../../src/network/attach/request.ts';
import { encodeFrames } from '../../src/network/nri/multiplex.ts';
import { encodeMessage } from '../../src/network/nri/peer.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { FakeRuntime, sandbox } from '../support/pods/fakeruntime.ts';
import { KniClient, message } from '../support/pods/kniclient.ts';
import { PodSite } from '../support/pods/podsite.ts';

const [INVALID, NOT_FOUND, EXHAUSTED, PRECONDITION, UNIMPLEMENTED] = [3, 5, 8, 9, 12];
const METHODS = [
  'AttachInterface',
  'DetachInterface',
  'CreateNetwork',
  'DeleteNetwork',
  'QueryPodNetwork',
  'QueryNodeNetworks',
  'SetupNodeNetwork',
];

const folder = mkdtempSync(join(tmpdir(), 'sluice-forged-'));
const socket = join(folder, 'sluice.sock');
/** What no call may touch: a file of the test's own, since a fault in the agent would remove it as root. */
const precious = join(folder, 'precious');
let site: PodSite;
let runtime: FakeRuntime;
let agent: AgentProcess;
let kni: KniClient;
/** Where \`web\`, \`db\` and \`other\` are to be. */
let paths: Record<'web' | 'db' | 'other', string>;

beforeAll(async () => {
  writeFileSync(precious, 'still here');
  const manifests = join(folder, 'cluster.json');
  writeFileSync(manifests, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: CLUSTER }));
  runtime = await FakeRuntime.listen(join(folder, 'nri.sock'));
  site = await PodSite.build();
  paths = { web: await site.add('web'), db: await site.add('db'), other: await site.add('other') };
  const rest = ['--manifests', manifests, '--pod-network', 'attach', '--start-gate', 'nri'];
  agent = new AgentProcess(site.node, 'n', [...rest, '--nri-socket', runtime.path, '--socket', socket]);
  await agent.inForce();
  kni = new KniClient(socket);
  await kni.answered();
  for (const name of ['web', 'db'] as const) {
    const { eth0 } = await kni.attach({ name, namespace: 'shop', id: name, path: paths[name] });
    site.settle(name, eth0!.ip);
    addresses[name] = eth0!.ip;
  }
  stood = standing();
});

afterAll(async () => {
  kni.close();
  await agent.kill();
  await runtime.close();
  await site.close();
  rmSync(folder, { recursive: true });
});

beforeEach(context => {
  context.onTestFinished(async () => {
    expect(standing(), 'interfaces and routes').toEqual(stood);
    expect(readFileSync(precious, 'utf8')).toBe('still here');
    expect(await verdicts(), 'policy').toEqual(['closed', 'closed', 'open', 'open']);
    expect((await kni.node()).name, 'it answers').toBe('pods');
  });
});

/** Nobody reaches \`db\`, and it reaches everybody. */
const CLUSTER = [
  { kind: 'Node', metadata: { name: 'n' }, spec: { podCIDRs: ['10.83.0.0/24', 'fd83::/64'] } },
  ...['web', 'db', 'other'].map(name => ({
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName: 'n', containers: [] },
  })),
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'db', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: 'db' } }, ingress: [] },
  },
].map(object => ({ apiVersion: 'v1', ...object }));

const addresses: Record<string, readonly string[]> = {};
let stood: unknown;
const standing = () => [site.devices().sort(), site.podRoutes().sort()];

function verdicts() {
  const flow = (from: string, to: string, family: number) => ({
    from: parseAddress(addresses[from]![family]!)!,
    to: parseAddress(addresses[to]![family]!)!,
    protocol: 'TCP' as const,
    port: 80,
  });
  return probe(site, [
    flow('web', 'db', 0),
    flow('web', 'db', 1),
    flow('db', 'web', 0),
    flow('db', 'web', 1),
  ]);
}

test('another user reaches neither socket', async () => {
  chmodSync(folder, 0o755);
  for (const path of [socket, cniSocketOf(socket)]) {
    expect(await reached(path)).toBe('connected');
    process.seteuid!(65534);
    // To connect to a unix socket takes no time: it is done, or refused, before the line behind it.
    const outcome = reached(path);
    process.seteuid!(0);
    expect(await outcome).toBe('EACCES');
  }
});

function reached(path: string): Promise<string> {
  return new Promise(resolve => {
    const caller = connect(path);
    caller.once('connect', () => resolve('connected'));
    caller.once('error', error => resolve((error as NodeJS.ErrnoException).code ?? ''));
    caller.once('close', () => resolve('closed'));
    caller.once('connect', () => caller.destroy());
  });
}

const port = (...fields: (readonly [number, number | string])[]) => ({ more: [[6, message(fields)]] });
const named = (name: string) => ({ more: [[9, { interface: name }]] });

test.each<[string, object]>([
  ['a file', { path: precious }],
  ['a device', { path: '/dev/zero' }],
  ['steps back', { path: '/run/netns/../netns/x' }],
  ['a path from somewhere', { path: 'run/netns/x' }],
  ['no path', { path: '' }],
  ['a namespace that is not there', { path: '/run/netns/sluice-absent' }],
  ['a namespace of another kind', { path: '/proc/self/ns/mnt' }],
  ['a pod without a name', { name: '' }],
  ['a pod that is a path', { name: '../../x' }],
  ['a namespace that is none', { namespace: 'a b' }],
  ['no sandbox', { id: '' }],
  ['too long a sandbox', { id: 'x'.repeat(200) }],
  ['a sandbox that is a path', { id: 'a/b' }],
  ['the loopback', named('lo')],
  ['an interface that is a path', named('../../../x')],
  ['too long an interface', named('a name that is far too long')],
  ['a port that there is not', port([2, 80], [3, 70_000])],
  ['no port of the pod', port([2, 0], [3, 80])],
  ['a port on no address', port([2, 80], [3, 80], [4, 'nowhere'])],
])('AttachInterface with %s is refused', async (_, change) => {
  const pod = { name: 'other', namespace: 'shop', id: 'other', path: paths.other };
  await expect(kni.attach({ ...pod, ...change })).rejects.toMatchObject({ code: INVALID });
});

test('AttachInterface does not take the node’s own namespace, nor the interface of another sandbox', async () => {
  const pod = { name: 'other', namespace: 'shop', id: 'other' };
  for (const path of [`/proc/${agent.pid}/ns/net`, site.node])
    await expect(kni.attach({ ...pod, path })).rejects.toMatchObject({ code: INVALID });
  await expect(kni.attach({ ...pod, path: paths.web })).rejects.toMatchObject({ code: PRECONDITION });
  await expect(kni.attach({ ...pod, id: 'web', path: paths.web })).rejects.toMatchObject({
    code: PRECONDITION,
  });
});

test.each<[string, string, Parameters<KniClient['call']>[1]]>([
  ['DetachInterface', 'no sandbox', [[2, '']]],
  ['DetachInterface', 'a sandbox that is a path', [[2, '../web']]],
  ['DetachInterface', 'too long a sandbox', [[2, 'x'.repeat(200)]]],
  ['CreateNetwork', 'no pod', [[4, '/tmp']]],
  [
    'CreateNetwork',
    'a pod that is a path',
    [
      [1, '../x'],
      [3, 'shop'],
    ],
  ],
  [
    'CreateNetwork',
    'steps back',
    [
      [1, 'other'],
      [3, 'shop'],
      [4, `${folder}/a/../b`],
    ],
  ],
  ['DeleteNetwork', 'no path', [[2, 'web']]],
  ['DeleteNetwork', 'a file', [[4, precious]]],
  ['DeleteNetwork', 'steps back', [[4, `${folder}/a/../sluice-000000000000000000000000`]]],
])('%s with %s is refused', async (method, _, fields) => {
  await expect(kni.call(method, fields)).rejects.toMatchObject({ code: INVALID });
});

test('DeleteNetwork leaves what CreateNetwork did not make, and DetachInterface what it is not asked for', async () => {
  await expect(kni.call('DeleteNetwork', [[4, paths.web]])).rejects.toMatchObject({ code: INVALID });
  for (const id of ['we', 'web2', 'eth0', 'sandbox'])
    await kni.detach({ name: 'web', namespace: 'shop', id });
  await expect(kni.query('nobody', 'shop')).rejects.toMatchObject({ code: NOT_FOUND });
});

describe('a link where CreateNetwork would make a namespace', () => {
  const links = join(folder, 'links');
  const link = ownNamespacePath(links, 'shop/other', 'uid');
  const request: Parameters<KniClient['call']>[1] = [
    [1, 'other'],
    [2, 'uid'],
    [3, 'shop'],
    [4, links],
  ];
  beforeAll(() => mkdirSync(links));
  afterEach(() => rmSync(link, { force: true }));

  test.each([
    ['the namespace of another pod', () => paths.web],
    ["the agent's own", () => '/proc/self/ns/net'],
    ['a file', () => precious],
    ['nothing yet', () => join(folder, 'not-there')],
  ])('that leads to %s is refused, and DeleteNetwork leaves it alone', async (_, target) => {
    symlinkSync(target(), link);
    await expect(kni.call('CreateNetwork', request)).rejects.toMatchObject({ code: INVALID });
    await expect(kni.call('DeleteNetwork', [[4, link]])).rejects.toMatchObject({ code: INVALID });
    expect(readlinkSync(link)).toBe(target());
    expect(existsSync(join(folder, 'not-there'))).toBe(false);
    expect(readFileSync(precious, 'utf8')).toBe('still here');
    await expect(
      kni.attach({ name: 'web', namespace: 'shop', id: 'web', path: paths.web }),
    ).resolves.toBeDefined();
  });

  test('in a folder that others may write is not even looked for', async () => {
    chmodSync(links, 0o777);
    await expect(kni.call('CreateNetwork', request)).rejects.toMatchObject({ code: INVALID });
    expect(existsSync(link)).toBe(false);
  });
});

test.each(METHODS)('%s of garbage, or of more than anybody says, ends in an error', async method => {
  await expect(kni.raw(method, Buffer.from('no protobuf at all'))).rejects.toBeDefined();
  await expect(kni.raw(method, Buffer.alloc(3 << 20))).rejects.toMatchObject({ code: EXHAUSTED });
});

test('a call of another version is refused', async () => {
  await expect(kni.raw('AttachInterfaceV2', Buffer.alloc(0))).rejects.toMatchObject({ code: UNIMPLEMENTED });
});

const frame = (length: number, body = '') => {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(length);
  return Buffer.concat([Buffer.from('cni1'), size, Buffer.from(body)]);
};
const request = (text: string) => frame(text.length, text);

test.each<[string, Buffer]>([
  ['a web client', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['bytes without a meaning', Buffer.alloc(100_000, 0xff)],
  ['zeros', Buffer.alloc(100_000)],
  ['HTTP/2, and then nothing of it', Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'x'.repeat(5000)}`)],
  ['CNI of another version', Buffer.concat([Buffer.from('cni9'), request('ADD\0x').subarray(4)])],
  ['CNI of a length that nobody has', frame(0xffffffff, 'ADD')],
  ['CNI that breaks off', frame(1000, 'ADD\0x')],
  ['CNI without fields', request('ADD')],
  ['CNI that is no JSON', request('ADD\0x\0/run/netns/x\0eth0\0\0{')],
  ['a verb that there is not', request('FLY\0x\0/run/netns/x\0eth0\0\0{"cniVersion":"1.0.0"}')],
  ['a sandbox that is a path', request('DEL\0../web\0\0eth0\0\0{"cniVersion":"1.0.0"}')],
])('%s on either socket gets nothing done', async (_, bytes) => {
  for (const path of [socket, cniSocketOf(socket)]) await pour(path, bytes);
});

/** Until the other side hangs up: it need not wait for more. */
function pour(path: string, bytes: Buffer): Promise<void> {
  return new Promise(resolve => {
    const caller = connect(path);
    caller.on('error', () => {});
    caller.on('data', () => {});
    caller.on('close', () => resolve());
    caller.end(bytes);
  });
}

test.each<[string, Buffer]>([
  ['garbage', Buffer.alloc(64, 0xff)],
  ['an oversized message', encodeFrames(1, Buffer.from('00500000000000010100', 'hex'))],
  ['a type that there is not', encodeFrames(1, Buffer.from('00000000000000010900', 'hex'))],
  ['an answer to nothing', encodeFrames(2, encodeMessage({ stream: 9, type: 2, data: Buffer.alloc(0) }))],
])('a runtime that says %s loses the agent, which comes back', async (_, bytes) => {
  const plugin = await runtime.plugin();
  await plugin.takeIn([]);
  plugin.socket.write(bytes);
  await plugin.peer.ended;
});

test('a runtime that lies of a pod does not take its rules away: what is attached stays as policy says', async () => {
  const plugin = await runtime.plugin();
  await plugin.takeIn([]);
  const [v4, v6] = [addresses.db![0]!, addresses.db![1]!];
  const bad = ['', 'no address', '10.83.0.0/24', '999.1.1.1', '::ffff:1.2.3.4', '10.0.0.1\0'];
  await plugin.start(sandbox('shop/liar', bad, { labels: { app: 'web' } }));
  await plugin.start(sandbox('', [v4]));
  await plugin.start(sandbox('shop/db', [], { id: 'other' }));
  await plugin.stop(sandbox('shop/db', [v4, v6]));
  await plugin.takeIn([]);
  plugin.peer.close('the test is over');
});
