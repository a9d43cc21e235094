/** Not one packet of a pod that starts passes that should not, whether the agent lives or not (N67). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { address } from '../../bench/lab/topology.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { FakeRuntime } from '../support/pods/fakeruntime.ts';
import { PORT, PodStarter, Receiver, sendOnce } from '../support/pods/startingpods.ts';
import { runs } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Places where pods start, one after the other in each. */
const PLACES = 10;
/** In each, all places start one while the agent lives, while it is killed, while it is dead, and while it starts. */
const ROUNDS = runs(5, 2);
const PODS = 4 * ROUNDS * PLACES;
const TARGET = [address('10.1.0.2'), address('fd01::2')];
const NODE = [address('172.18.0.1'), address('fd18::1')];
/** Of the node itself in the pod network, as a bridge has one. */
const BRIDGE = [address('10.1.0.1'), address('fd01::1')];

const place = (at: number) => [address(`10.1.0.${100 + at}`), address(`fd01::${100 + at}`)];

const MANIFESTS = `
apiVersion: v1
kind: Node
metadata: { name: n1 }
spec: { podCIDRs: [10.1.0.0/24, 'fd01::/64'] }
status: { addresses: [{ type: InternalIP, address: ${NODE[0]} }, { type: InternalIP, address: '${NODE[1]}' }] }
---
apiVersion: v1
kind: Pod
metadata: { name: target, namespace: open }
spec: { nodeName: n1, containers: [] }
status: { podIPs: [{ ip: ${TARGET[0]} }, { ip: '${TARGET[1]}' }] }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: default-deny, namespace: shut }
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  egress:
  - to: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: open } } }]
    ports: [{ protocol: UDP, port: ${PORT.allowed} }]
`;

let lab: Lab;
let folder: string;
let agent: AgentProcess | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  writeFileSync(join(folder, 'cluster.yaml'), MANIFESTS);
  const places = Array.from({ length: PLACES }, (_, at) => place(at));
  lab = await buildLab({
    nodes: [{ name: 'n1', addresses: [...NODE, ...BRIDGE] }],
    pods: [TARGET, ...places].map((addresses, at) => ({ name: `pods/p${at}`, node: 'n1', addresses })),
    outside: [],
  });
});

afterEach(async () => {
  await agent?.kill();
  const kernel = await inNamespace(lab.nodeNamespace('n1'), () => openNftKernel());
  const { ruleset } = await kernel.dump();
  await kernel.commit([...ruleset.tables.keys()].map(family => ({ op: 'delTable', family })));
  kernel.close();
});

afterAll(() => {
  lab.remove();
  rmSync(folder, { recursive: true });
});

function startAgent(...more: string[]): AgentProcess {
  return new AgentProcess(lab.nodeNamespace('n1'), 'n1', ['--manifests', folder, ...more]);
}

/** What arrives of what each sends to the other, in both families: `from->to`. The node and its pods may always. */
async function exchanged(ends: Record<string, readonly (typeof TARGET)[number][]>): Promise<string[]> {
  const receivers = Object.entries(ends).map(([, addresses]) => new Receiver(lab, addresses, PORT.denied));
  for (const [from, sources] of Object.entries(ends))
    for (const [to, targets] of Object.entries(ends))
      if (from !== to)
        for (const [i, at] of sources.entries())
          sendOnce(lab, at, targets[i]!, PORT.denied, `${from}->${to}`);
  const names = Object.keys(ends);
  const arrived = await Promise.all(
    receivers.map((receiver, i) => receiver.last(names[i] === 'node' ? TARGET : NODE)),
  );
  for (const receiver of receivers) receiver.close();
  return arrived.flat().sort();
}

test('unknown pods are denied in the kernel both ways; known ones, the node and its own addresses are not', async () => {
  const ends = { target: TARGET, unknown: place(0), node: NODE, bridge: BRIDGE };
  const open = await exchanged(ends);
  expect(open).toHaveLength(2 * 4 * 3);
  agent = startAgent('--unknown-pods', 'allow');
  await agent.inForce();
  expect(await exchanged(ends)).toEqual(open);
  await agent.kill();
  agent = startAgent('--unknown-pods', 'deny');
  await agent.inForce();
  const closed = ['unknown->target', 'target->unknown', 'unknown->node', 'unknown->bridge'];
  expect(await exchanged(ends)).toEqual(open.filter(text => !closed.includes(text)));
  await agent.kill();
  expect(await exchanged(ends)).toEqual(open.filter(text => !closed.includes(text)));
});

test('while somebody else owns the tables the gate is not connected; it is when the first commit is in force', async () => {
  const path = join(folder, 'early.sock');
  const runtime = await FakeRuntime.listen(path);
  const predecessor = startAgent();
  await predecessor.inForce();
  agent = startAgent('--start-gate', 'nri', '--nri-socket', path, '--log-level', 'debug');
  let connected = false;
  const plugin = runtime.plugin().then(connection => {
    connected = true;
    return connection;
  });
  const tries = () => agent!.output.match(/another agent owns the tables/g)?.length ?? 0;
  await until('three tries of the agent', () => tries() >= 3);
  expect([connected, agent.output.includes('rules in force')]).toEqual([false, false]);
  await predecessor.kill();
  const connection = await plugin;
  expect(agent.output).toContain('rules in force');
  await agent.kill();
  await runtime.close([connection]);
});

test(`of ${PODS} pods that start while the agent is killed and restarted, none sends or is sent a packet that it must not`, async () => {
  const path = join(folder, 'nri.sock');
  const runtime = await FakeRuntime.listen(path);
  const starter = new PodStarter(runtime);
  const gate = ['--start-gate', 'nri', '--nri-socket', path, '--start-gate-timeout', '60000'];
  agent = startAgent(...gate);
  await starter.ready();
  const [allowed, denied] = [PORT.allowed, PORT.denied].map(port => new Receiver(lab, TARGET, port));
  const seen = { allowed: new Set<string>(), denied: [] as string[], back: [] as string[] };
  const look = () => {
    for (const text of allowed!.arrived()) seen.allowed.add(text);
    seen.denied.push(...denied!.arrived());
  };
  const held: string[] = [];
  const startOne = async (at: number, n: number) => {
    const key = `shut/p${at}-${n}`;
    const [addresses, back] = [place(at), new Receiver(lab, place(at), PORT.back)];
    const wasHeld = await starter.start(key, addresses);
    addresses.forEach((from, i) => {
      for (const port of [PORT.denied, PORT.allowed]) sendOnce(lab, from, TARGET[i]!, port, `${key} ${i}`);
      sendOnce(lab, TARGET[i]!, from, PORT.back, `${key} ${i}`);
    });
    if (wasHeld) held.push(`${key} 0`, `${key} 1`);
    seen.back.push(...(await back.last(NODE)));
    look();
    back.close();
    await starter.stop(key);
  };
  const places = Array.from({ length: PLACES }, (_, at) => at);
  let n = 0;
  /** One in each place, at the same time. */
  const startAll = async () => {
    const turn = n++;
    await Promise.all(places.map(at => startOne(at, turn)));
  };
  for (let round = 0; round < ROUNDS; round++) {
    await starter.ready();
    await startAll();
    await Promise.all([startAll(), agent.kill()]);
    await startAll();
    agent = startAgent(...gate);
    await startAll();
  }
  for (const text of await allowed!.last(NODE)) seen.allowed.add(text);
  seen.denied.push(...(await denied!.last(NODE)));
  expect({ denied: seen.denied, back: seen.back }).toEqual({ denied: [], back: [] });
  // The gate was no mere deny: who was held back had its rules with its first packet.
  expect(held.filter(text => !seen.allowed.has(text))).toEqual([]);
  expect([n * PLACES, held.length >= 2 * ROUNDS * PLACES]).toEqual([PODS, true]);
  for (const receiver of [allowed!, denied!]) receiver.close();
  starter.close();
  await agent.kill();
  await runtime.close();
}, 300_000);
