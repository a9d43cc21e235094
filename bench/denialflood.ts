/**
 * A flood of denied packets, as many as the budget is about: what it costs the agent, and whether what another pod is
 * denied meanwhile still has its line in time. One pod floods from its own address; and many addresses from outside at
 * once, so that the agent is handed all that the limit of those outside lets through.
 */
import { setTimeout } from 'node:timers/promises';
import type { AgentClient, Drops } from '../src/api/rpc/client.ts';
import { connectedAgent } from './connectedagent.ts';
import { DENIAL_PODS, type DenialPlace, inDenialPlace, withDenialAgent } from './denialsite.ts';
import { compileFlood, type SentFlood, sendFlood } from './flood.ts';
import type { Lab } from './lab/lab.ts';
import { inNamespace } from './lab/netns.ts';
import { probe } from './lab/probe/probe.ts';
import { address } from './lab/topology.ts';
import type { BenchAgent } from './neighbours/agentprocess.ts';
import { absolute, type BenchRow, beyondFloor } from './row.ts';

/** The first of those outside. */
const CROWD = address('198.18.0.1');
const CROWD_SIZE = 4_000;
/** Somewhat more than the budget is about: a sender that others keep from the CPU sends less. */
const PER_SECOND = 120_000;
const SECONDS = 8;
/** Below the limit of a source. */
const ATTEMPT_EVERY_MS = 500;
const LATE_MS = 3_000;

export function benchDenialFlood(): Promise<BenchRow[]> {
  return inDenialPlace(async site => {
    const place = { ...site, program: compileFlood(site.folder) };
    return rows(await floods(place, '--denials=0'), await floods(place));
  });
}

interface Place extends DenialPlace {
  readonly program: string;
}

interface Site extends Place {
  readonly agent: BenchAgent;
  readonly client: AgentClient;
}

interface Floods {
  /** A flood from one pod. */
  readonly one: Load;
  /** A flood from many addresses. */
  readonly crowd: Load;
  /** How late the lines of another pod came while one flooded, in ms; infinite if a line did not come. */
  readonly delays: readonly number[];
  /** Memory of the agent, before and after both. */
  readonly mb: readonly [number, number];
}

function floods(place: Place, ...options: string[]): Promise<Floods> {
  return withDenialAgent(place, options, (agent, client) => flooded({ ...place, agent, client }));
}

async function flooded(site: Site): Promise<Floods> {
  const { agent, lab, socket } = site;
  const before = agent.residentMb();
  const lines = new Lines(await connectedAgent(socket));
  const one = await load(site, async () => {
    const flooding = floodFrom(site, DENIAL_PODS.flooder, 1);
    await attempts(lab, lines);
    return flooding;
  });
  const delays = await lines.delaysMs().finally(() => lines.close()); // a reader costs the agent too
  const crowd = await load(site, () => floodFrom(site, CROWD, CROWD_SIZE));
  return { one, crowd, delays, mb: [before, agent.residentMb()] };
}

/**
 * The cost of naming denials is the CPU time of the agent minus that of an agent that names none, in the same flood.
 */
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

/** Denials of other pods in the same period are counted, too. */
function uncounted({ sent, denied }: Load): number {
  return Math.max(0, sent - denied);
}

function floodFrom({ lab, program }: Place, from: typeof CROWD, sources: number): Promise<SentFlood> {
  const options = { from, sources, to: DENIAL_PODS.db, perSecond: PER_SECOND, seconds: SECONDS };
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
    await probe(lab, [{ from: DENIAL_PODS.neighbour, to: DENIAL_PODS.db, protocol: 'UDP', port }], {
      quietMs: ATTEMPT_EVERY_MS,
    });
  }
}

/** The denied packets of the neighbour, and the time at which each line came, by port. */
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
    if (from.address === DENIAL_PODS.neighbour && port !== undefined && !this.#cameMs.has(port))
      this.#cameMs.set(port, performance.now());
  }
}
