/** One node under one attack: an agent process fed by an API server's process, and a neighbour who edits its policy. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openConntrack } from '../../src/kernel/netlink/conntrack/conntrack.ts';
import type { Connection, Conntrack } from '../../src/nft/conntrack.ts';
import { Netns } from '../lab/unnamed.ts';
import { track } from '../trackedconnection.ts';
import { BenchAgent } from './agentprocess.ts';
import { ApiProcess } from './api.ts';
import type { Attack } from './attacks.ts';
import { ElementProbe } from './elementprobe.ts';
import { CLIENT, DEFAULT_DENY, NEIGHBOUR, NEIGHBOURS_NODE, SERVER } from './population.ts';
import { PodStartLoad } from './starts.ts';

/** The time of one default deny of the neighbour, from the API server on. */
export interface Sample {
  readonly toKernelMs: number;
  /** Time until a connection that it denies was cut. */
  readonly toCutMs: number;
}

/** After this time an operation counts as failed. */
const PATIENCE_MS = 10_000;
const POLL_MS = 1;
const PORT = 5432;

export class NeighboursSite {
  readonly netns: Netns;
  readonly api: ApiProcess;
  readonly agent: BenchAgent;
  readonly runtime: PodStartLoad | undefined;
  readonly #folder: string;
  readonly #probe: ElementProbe;
  readonly #conntrack: Conntrack;
  #sourcePort = 20_000;

  /** If pods are to be started: with a runtime that reports pods to the agent before they start. */
  static async open(dist: string, { starts }: Pick<Attack, 'starts'>): Promise<NeighboursSite> {
    const netns = new Netns();
    netns.exec('ip', ['link', 'set', 'lo', 'up']);
    const api = new ApiProcess(dist, netns);
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
    writeFileSync(join(folder, 'kubeconfig'), await api.kubeconfig());
    const runtime = starts === undefined ? undefined : await PodStartLoad.listen(join(folder, 'nri.sock'));
    const site = new NeighboursSite(dist, netns, api, folder, runtime);
    await runtime?.takeIn();
    await site.agent.programmed();
    return site;
  }

  private constructor(
    dist: string,
    netns: Netns,
    api: ApiProcess,
    folder: string,
    runtime: PodStartLoad | undefined,
  ) {
    this.netns = netns;
    this.api = api;
    this.#folder = folder;
    this.#probe = new ElementProbe(netns);
    this.#conntrack = netns.run(() => openConntrack());
    this.runtime = runtime;
    const gate =
      runtime === undefined
        ? ['--start-gate', 'off']
        : ['--start-gate', 'nri', '--nri-socket', join(folder, 'nri.sock'), '--unknown-pods', 'allow'];
    const source = ['--node', NEIGHBOURS_NODE, '--kubeconfig', join(folder, 'kubeconfig')];
    this.agent = new BenchAgent(dist, netns, [...source, ...gate], 'timed');
  }

  /** The neighbour denies everything, and takes it back. */
  async deny(): Promise<Sample> {
    const connection = await this.#connect();
    const startNs = await this.api.tell({ do: 'put', object: DEFAULT_DENY });
    const toKernelMs = await this.#until(startNs, () => this.#isDenied());
    const toCutMs = await this.#until(startNs, async () => !(await this.#conntrack.has(connection)));
    const endNs = await this.api.tell({
      do: 'delete',
      kind: DEFAULT_DENY.kind,
      name: `${NEIGHBOUR}/${DEFAULT_DENY.metadata.name}`,
    });
    await this.#until(endNs, () => !this.#isDenied());
    return { toKernelMs, toCutMs };
  }

  async close(): Promise<void> {
    await this.agent.end();
    await this.runtime?.close();
    await this.api.end();
    this.#probe.close();
    this.#conntrack.close();
    this.netns.close();
    rmSync(this.#folder, { recursive: true });
  }

  #isDenied(): boolean {
    return this.#probe.isAffected('ingress', SERVER);
  }

  /** A connection of the neighbour's that its policy allows until it denies everything. */
  async #connect(): Promise<Connection> {
    const sourcePort = this.#sourcePort++;
    this.netns.run(() => track([{ from: CLIENT, sourcePort, to: SERVER, port: PORT, protocol: 'TCP' }]));
    const found: Connection[] = [];
    await this.#conntrack.read(
      [CLIENT],
      ({ to }) => to === SERVER,
      one => found.push(one),
    );
    const made = found.find(one => one.sourcePort === sourcePort);
    if (made === undefined) throw new Error('the kernel does not track what the benchmark has it track');
    return made;
  }

  /** Milliseconds since then; no more than the patience. */
  async #until(startNs: bigint, isSo: () => boolean | Promise<boolean>): Promise<number> {
    for (;;) {
      const found = await isSo();
      const tookMs = Number(process.hrtime.bigint() - startNs) / 1e6;
      if (found || tookMs > PATIENCE_MS) return Math.min(tookMs, PATIENCE_MS);
      if (!this.agent.isAlive) throw new Error(`the agent has ended: ${this.agent.output}`);
      await setTimeout(POLL_MS);
    }
  }
}
