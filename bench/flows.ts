/**
 * The cost for an agent of a client that follows new connections: its CPU time at five thousand a second, compared with
 * that of `conntrack -E` in the same run, and in a flood. Connections are datagrams to ports in turn, from one pod to
 * another.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { AgentClient } from '../src/api/rpc/client.ts';
import { builtFolder } from './build.ts';
import { connectedAgent } from './connectedagent.ts';
import { buildLab, type Lab } from './lab/lab.ts';
import { inNamespace } from './lab/netns.ts';
import { address } from './lab/topology.ts';
import { BenchAgent } from './neighbours/agentprocess.ts';
import { podObjects } from './podobjects.ts';
import { absolute, type BenchRow, beyondFloor } from './row.ts';

const NODE = 'n1';
const [FROM, TO] = [address('10.0.1.1'), address('10.0.1.2')];
const PER_SECOND = 5_000;
const SECONDS = 8;

export async function benchFlows(): Promise<BenchRow[]> {
  const dist = builtFolder();
  const pods = [FROM, TO].map((own, index) => ({ name: `bench/p${index}`, node: NODE, addresses: [own] }));
  const lab = await buildLab({
    nodes: [{ name: NODE, addresses: [address('172.18.0.11')] }],
    pods,
    outside: [],
  });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const socket = join(folder, 'sluice.sock');
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify(LIST));
  const node = { run: <T>(work: () => T): T => inNamespace(lab.nodeNamespace(NODE), work) };
  const source = ['--node', NODE, '--manifests', join(folder, 'cluster.json'), '--socket', socket];
  const agent = new BenchAgent(dist, node, source);
  try {
    await agent.programmed();
    return await rows(lab, agent, await connectedAgent(socket));
  } finally {
    await agent.end();
    lab.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

const LIST = {
  apiVersion: 'v1',
  kind: 'List',
  items: podObjects(
    NODE,
    [FROM, TO].map((ip, index) => ({
      name: `p${index}`,
      ip,
      labels: { app: 'web', tier: 'front', n: `${index}` },
    })),
  ),
};

async function rows(lab: Lab, agent: BenchAgent, client: AgentClient): Promise<BenchRow[]> {
  const reader = new Reader(client);
  await reader.started;
  const peer = conntrackEvents(lab);
  const asked = await load(lab, agent, PER_SECOND, peer);
  await setTimeout(500);
  const [reported, lost] = [reader.reported, reader.lost];
  const flood = await load(lab, agent, Number.POSITIVE_INFINITY);
  await reader.end();
  peer?.kill();
  // Waits until the agent has read what was reported: from here on no client follows.
  await setTimeout(2_000);
  const unfollowed = await load(lab, agent, PER_SECOND);
  const idle = await load(lab, agent, 1);
  client.close();
  const at = (load: Load) =>
    `${Math.round(load.sent / load.seconds).toLocaleString('en')} connections a second`;
  return [
    { ...absolute(`agent, ${at(asked)}`, '%', asked.agent, 15), ...(peer && { floor: asked.peer }) },
    absolute('agent, connections lost', 'connections', lost + Math.max(0, asked.sent - reported), 0),
    beyondFloor(
      `agent, unfollowed asks, ${at(unfollowed)}, beside none`,
      '%',
      unfollowed.agent,
      idle.agent,
      1,
    ),
    absolute(`agent, a flood, ${at(flood)}`, '%', flood.agent, 30),
  ];
}

/** The connections that were sent, and their cost in percent of a core. */
interface Load {
  readonly sent: number;
  readonly seconds: number;
  readonly agent: number;
  readonly peer: number;
}

async function load(lab: Lab, agent: BenchAgent, perSecond: number, peer?: ChildProcess): Promise<Load> {
  const [atMs, before, beforePeer] = [performance.now(), agent.cpuUs(), cpuUs(peer)];
  const rate = Number.isFinite(perSecond) ? perSecond : 0;
  const sender = inNamespace(lab.namespaceOf(FROM), () =>
    spawn(process.execPath, ['-e', SEND, TO, `${rate}`, `${SECONDS}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const [[text]] = await Promise.all([once(sender.stdout!, 'data'), once(sender, 'exit')]);
  const ms = performance.now() - atMs;
  const percent = (us: number) => us / 10 / ms;
  const costs = { agent: percent(agent.cpuUs() - before), peer: percent(cpuUs(peer) - beforePeer) };
  return { sent: Number(text), seconds: SECONDS, ...costs };
}

/** Ports in turn, from several sockets: each datagram is a connection. */
const SEND = `const [, to, rate, seconds] = process.argv;
const dgram = require('node:dgram');
const sockets = Array.from({ length: 8 }, () => dgram.createSocket('udp4'));
const begun = performance.now();
let sent = 0, under = 0;
const step = () => {
  const ms = performance.now() - begun;
  if (ms >= seconds * 1000) {
    if (under > 0) return setTimeout(step, 1);
    process.stdout.write(String(sent));
    return sockets.forEach(socket => socket.close());
  }
  const due = rate > 0 ? (ms / 1000) * rate : sent + 500;
  while (sent < due && under < 2000) {
    under++;
    const socket = sockets[Math.floor(sent / 60000) % 8];
    socket.send('x', 5000 + (sent++ % 60000), to, () => under--);
  }
  rate > 0 ? setTimeout(step, 1) : setImmediate(step);
};
sockets.forEach(socket => socket.bind(0));
setTimeout(step, 50);`;

/** Conntrack's own reader; undefined where it is not installed. */
function conntrackEvents(lab: Lab): ChildProcess | undefined {
  const child = inNamespace(lab.nodeNamespace(NODE), () =>
    spawn('conntrack', ['-E', '-e', 'NEW', '-b', '4194304'], { stdio: ['ignore', 'ignore', 'ignore'] }),
  );
  child.on('error', () => undefined);
  return child.pid === undefined ? undefined : child;
}

/** CPU time of all threads of a process, in µs (proc(5), schedstat). */
function cpuUs(child: ChildProcess | undefined): number {
  if (child?.pid === undefined || child.exitCode !== null) return 0;
  const folder = `/proc/${child.pid}/task`;
  const times = readdirSync(folder).map(task => readFileSync(join(folder, task, 'schedstat'), 'utf8'));
  return times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1_000;
}

class Reader {
  reported = 0;
  lost = 0;
  readonly started: Promise<void>;
  readonly #ended = new AbortController();
  readonly #reading: Promise<void>;

  constructor(client: AgentClient) {
    const first = Promise.withResolvers<void>();
    this.started = first.promise;
    this.#reading = this.#read(client, first.resolve);
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.#reading;
  }

  async #read(client: AgentClient, started: () => void): Promise<void> {
    for await (const { facts, flows, lost, skipped } of client.flows(this.#ended.signal)) {
      if (facts !== undefined) started();
      this.reported += flows.length;
      this.lost += lost + skipped;
    }
  }
}
