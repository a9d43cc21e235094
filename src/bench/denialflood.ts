/**
 * A flood of denied packets, as many as the budget is about: what it costs the agent, and whether what another pod is
 * denied meanwhile still has its line in time. One pod floods from its own address; and many addresses from outside at
 * once, so that the agent is handed all that the limit of those outside lets through.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { buildLab, type Lab } from '../lab/lab.ts';
import { inNamespace } from '../lab/netns.ts';
import { probe } from '../lab/probe/probe.ts';
import { address } from '../lab/topology.ts';
import type { AgentClient, Drops } from '../rpc/client.ts';
import { builtFolder } from './build.ts';
import { connectedAgent } from './connectedagent.ts';
import { compileFlood, type SentFlood, sendFlood } from './flood.ts';
import { BenchAgent } from './neighbours/agentprocess.ts';
import { podObjects } from './podobjects.ts';
import { absolute, type BenchRow, beyondFloor } from './row.ts';

const NODE = 'n1';
const PODS = {
  flooder: address('10.0.1.1'),
  neighbour: address('10.0.1.2'),
  db: address('10.0.1.3'),
} as const;
/** The first of those outside. */
const CROWD = address('198.18.0.1');
const CROWD_SIZE = 4_000;
/** Somewhat more than the budget is about: a sender that others keep from the CPU sends less. */
const PER_SECOND = 120_000;
const SECONDS = 8;
/** Below the limit of a source. */
const ATTEMPT_EVERY_MS = 500;
const LATE_MS = 3_000;
/** What the start has left to do. */
const SETTLE_MS = 10_000;

export async function benchDenialFlood(): Promise<BenchRow[]> {
  const dist = builtFolder();
  const lab = await buildLab({
    nodes: [{ name: NODE, addresses: [address('172.18.0.11')] }],
    pods: Object.entries(PODS).map(([name, own]) => ({
      name: `bench/${name}`,
      node: NODE,
      addresses: [own],
    })),
    outside: [],
  });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify(LIST));
  const place: Place = { dist, lab, folder, program: compileFlood(folder) };
  try {
    return rows(await floods(place, '--denials=0'), await floods(place));
  } finally {
    lab.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly dist: string;
  readonly lab: Lab;
  readonly folder: string;
  readonly program: string;
}

interface Site extends Place {
  readonly agent: BenchAgent;
  readonly client: AgentClient;
  readonly socket: string;
}

interface Floods {
  /** From one pod. */
  readonly one: Load;
  /** From many addresses. */
  readonly crowd: Load;
  /** Of what another pod was denied while one flooded, in ms; infinite where its line did not come. */
  readonly delays: readonly number[];
  /** Of the agent, before and after both. */
  readonly mb: readonly [number, number];
}

async function floods(place: Place, ...options: string[]): Promise<Floods> {
  const { dist, lab, folder } = place;
  const node = { run: <T>(work: () => T): T => inNamespace(lab.nodeNamespace(NODE), work) };
  const socket = join(folder, 'sluice.sock');
  const source = ['--node', NODE, '--manifests', join(folder, 'cluster.json'), '--socket', socket];
  const agent = new BenchAgent(dist, node, [...source, ...options]);
  try {
    await agent.programmed();
    const client = await connectedAgent(socket);
    await setTimeout(SETTLE_MS);
    return await flooded({ ...place, agent, client, socket }).finally(() => client.close());
  } finally {
    await agent.end();
  }
}

async function flooded(site: Site): Promise<Floods> {
  const { agent, lab, socket } = site;
  const before = agent.residentMb();
  const lines = new Lines(await connectedAgent(socket));
  const one = await load(site, async () => {
    const flooding = floodFrom(site, PODS.flooder, 1);
    await attempts(lab, lines);
    return flooding;
  });
  const delays = await lines.delaysMs().finally(() => lines.close()); // a reader costs the agent too
  const crowd = await load(site, () => floodFrom(site, CROWD, CROWD_SIZE));
  return { one, crowd, delays, mb: [before, agent.residentMb()] };
}

/** What it costs to name denials is what the agent takes beyond one that names none, in the same flood. */
function rows(unnamed: Floods, named: Floods): BenchRow[] {
  const { one, crowd, delays, mb } = named;
  const came = delays.filter(Number.isFinite);
  const at = ({ denied, ms }: Load) =>
    `${Math.round((denied / ms) * 1000).toLocaleString('en')} denied a second`;
  return [
    beyondFloor(`agent, one pod, ${at(one)}`, '%', one.agent, unnamed.one.agent, 1),
    beyondFloor(`agent, ${CROWD_SIZE} addresses, ${at(crowd)}`, '%', crowd.agent, unnamed.crowd.agent, 1),
    beyondFloor('memory of the agent after both', 'MB', mb[1], mb[0], 10),
    absolute(`line of another pod meanwhile, the latest of ${came.length}`, 'ms', Math.max(...came), 1_000),
    absolute('denials of another pod without a line', 'connections', delays.length - came.length, 0),
    absolute('denied packets that were not counted', 'packets', uncounted(one) + uncounted(crowd), 0),
  ];
}

/** What others are denied meanwhile is counted too. */
function uncounted({ sent, denied }: Load): number {
  return Math.max(0, sent - denied);
}

function floodFrom({ lab, program }: Place, from: typeof CROWD, sources: number): Promise<SentFlood> {
  const options = { from, sources, to: PODS.db, perSecond: PER_SECOND, seconds: SECONDS };
  return inNamespace(lab.namespaceOf(from), () => sendFlood(program, options));
}

interface Load extends SentFlood {
  /** Packets, by the kernel's own counter. */
  readonly denied: number;
  /** Percent of a core. */
  readonly agent: number;
}

async function load({ agent, client }: Site, work: () => Promise<SentFlood>): Promise<Load> {
  const [before, atMs, cpuUs] = [await facts(client), performance.now(), agent.cpuUs()];
  const flooded = await work();
  const percent = (agent.cpuUs() - cpuUs) / 10 / (performance.now() - atMs);
  await setTimeout(1_000); // counts are read twice a second at most
  const denied = (await facts(client)).denied - before.denied;
  return { ...flooded, denied, agent: percent };
}

async function facts(client: AgentClient): Promise<NonNullable<Drops['facts']>> {
  for await (const { facts } of client.drops(false)) if (facts !== undefined) return facts;
  throw new Error('the agent says nothing of denials');
}

/** One after the other, as long as the flood goes on. */
async function attempts(lab: Lab, lines: Lines): Promise<void> {
  const end = performance.now() + SECONDS * 1000;
  for (let port = 3_000; performance.now() < end - ATTEMPT_EVERY_MS; port++) {
    lines.sent(port);
    await probe(lab, [{ from: PODS.neighbour, to: PODS.db, protocol: 'UDP', port }], {
      quietMs: ATTEMPT_EVERY_MS,
    });
  }
}

/** What the neighbour was denied, and when its line came, by port. */
class Lines {
  readonly #sentMs = new Map<number, number>();
  readonly #cameMs = new Map<number, number>();

  readonly #client: AgentClient;

  /** The client is its own. */
  constructor(client: AgentClient) {
    this.#client = client;
    void this.#read().catch(() => undefined);
  }

  close(): void {
    this.#client.close();
  }

  sent(port: number): void {
    this.#sentMs.set(port, performance.now());
  }

  /** Infinite where none has come. */
  async delaysMs(): Promise<number[]> {
    for (const deadline = performance.now() + LATE_MS; performance.now() < deadline; await setTimeout(50))
      if (this.#cameMs.size === this.#sentMs.size) break;
    return [...this.#sentMs].map(
      ([port, sentMs]) => (this.#cameMs.get(port) ?? Number.POSITIVE_INFINITY) - sentMs,
    );
  }

  async #read(): Promise<void> {
    for await (const { denial } of this.#client.drops(true)) if (denial !== undefined) this.#take(denial);
  }

  #take({ from, port }: NonNullable<Drops['denial']>): void {
    if (from.address === PODS.neighbour && port !== undefined && !this.#cameMs.has(port))
      this.#cameMs.set(port, performance.now());
  }
}

const LIST = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ...podObjects(
      NODE,
      Object.entries(PODS).map(([name, ip]) => ({ name, ip, labels: { app: name } })),
    ),
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'db', namespace: 'bench' },
      spec: { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress'] },
    },
  ],
};
