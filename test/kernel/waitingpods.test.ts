/** What `sluice inspect` and `sluice status` say while pods wait for their turn. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { StatusKeeper } from '../../src/agent/status.ts';
import { serveRpc } from '../../src/api/rpc/server.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { nodeReader } from '../../src/daemon/serve/view.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import { crowd, podEvent, selecting, tenantPod } from '../support/agent/tenants.ts';
import { testView } from '../support/agent/view.ts';
import { Netns } from './netns.ts';
import { sluiceAside } from './sluiceaside.ts';

const NODE = 'n1';

let netns: Netns;
let folder: string;
let socket: string;

beforeEach(() => {
  netns = new Netns();
  folder = mkdtempSync(join(tmpdir(), 'sluice-waiting-'));
  socket = join(folder, 's');
});

afterEach(() => {
  netns.close();
  rmSync(folder, { recursive: true });
});

const sluice = (...words: string[]) => sluiceAside(netns, [...words, '--socket', socket]);

/** An agent that ends with the commit that is the first to leave pods for another one; its rules stay as they are then. */
async function endedBehind(events: readonly ClusterEvent[], later: readonly ClusterEvent[]) {
  const keeper = new StatusKeeper(NODE);
  const stop = new AbortController();
  let waiting = 0;
  const agent = new Agent({
    open: () => netns.run(() => openNftKernel()),
    engine: () => new Incremental(NODE),
    node: NODE,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    observers: [
      keeper,
      {
        committed: ({ waitingPods }) => {
          waiting = waitingPods.size;
          if (waiting > 0) stop.abort();
        },
      },
    ],
  });
  keeper.setSynced();
  agent.apply(events);
  const running = agent.run(stop.signal);
  await keeper.firstProgrammed;
  agent.apply(later);
  await running;
  return { keeper, agent, waiting };
}

test('pods that wait are no drift and not in force: their number and some names are told, and what a foreign hand did beside them', async () => {
  const first = [
    podEvent(tenantPod('tenant', 1)),
    ...crowd('tenant', 400, 'blue'),
    selecting('tenant/many', 240),
  ];
  const gone: ClusterEvent = { type: 'pod', key: 'tenant/p1399' };
  const { keeper, agent, waiting } = await endedBehind(first, [...crowd('tenant', 400, 'red'), gone]);
  expect(waiting).toBeGreaterThan(100);
  const networkNamespace = netns.exec('readlink', ['/proc/self/ns/net']).trim();
  const identity = { networkNamespace, cutsConnections: true };
  const view = testView({ identity, status: keeper, agent, readHost: nodeReader() });
  const server = await serveRpc({ socket, view });
  try {
    const wait = new RegExp(
      `pods that wait for their turn: ${waiting} \\(tenant/p\\d+, tenant/p\\d+, tenant/p\\d+, …\\), the longest for \\d+ m?s`,
    );
    const status = await sluice('status');
    expect(status.stdout).toMatch(new RegExp(`ok +kernel-equals-desired .*but for ${wait.source}\n`));
    expect(status.stdout).toMatch(new RegExp(`400 pods, .*; ${wait.source}\n`));
    const inspected = await sluice('inspect');
    expect(inspected.stdout).toMatch(
      new RegExp(
        `\nequal: the actual state is the one desired by the agent's cluster, but for ${wait.source}\n$`,
      ),
    );
    expect(inspected.code).toBe(0);
    const set = /set (peers-\S+) \{/.exec(netns.exec('nft', ['list', 'table', 'ip', 'sluice']))![1]!;
    netns.exec('nft', ['add', 'element', 'ip', 'sluice', set, '{ 192.0.2.1 }']);
    const edited = await sluice('inspect', '-o', 'json');
    expect(edited.code).toBe(1);
    expect(JSON.parse(edited.stdout)).toMatchObject({
      equal: false,
      difference: [`delete 1 elements from ip sluice ${set}`],
      waitingPods: waiting,
    });
  } finally {
    await server.close();
  }
});

test('what is different while the agent commits each time that both are read is neither equal nor different', async () => {
  const keeper = new StatusKeeper(NODE);
  const cluster = new ClusterState();
  for (const event of [podEvent(tenantPod('tenant', 1)), selecting('tenant/many', 1)]) cluster.apply(event);
  keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: true, waitingPods: new Set() });
  const status = keeper.status.bind(keeper);
  let commits = 0;
  keeper.status = () => ({ ...status(), totals: { ...status().totals, commits: commits++ } });
  const networkNamespace = netns.exec('readlink', ['/proc/self/ns/net']).trim();
  const agent = { requestResync: () => {}, podsInForce: new Map() };
  const identity = { networkNamespace, cutsConnections: true };
  const server = await serveRpc({
    socket,
    view: testView({ identity, status: keeper, agent, readHost: nodeReader() }),
  });
  try {
    const { code, stdout } = await sluice('inspect');
    expect(stdout).toContain('not compared: the agent changed its rules each time that they were read;');
    expect(code).toBe(0);
    keeper.status = status;
    expect(await sluice('inspect')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('\ndifferent: '),
    });
  } finally {
    await server.close();
  }
});
