/** From the start of the agent, as it is built and installed, to the rules of the demo's node in force. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { desiredAsProgrammed } from '../src/answers/readback/desired.ts';
import { watchManifests } from '../src/inputs/folder/source.ts';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import { ClusterState } from '../src/model/cluster.ts';
import type { Kernel } from '../src/nft/kernel.ts';
import { plan } from '../src/nft/plan/plan.ts';
import { builtFolder } from './build.ts';
import { Netns } from './lab/unnamed.ts';
import { absolute, type BenchRow, median } from './row.ts';

const ROUNDS = 7;
const SHOP = join(import.meta.dirname, '../examples/shop');
const NODE = 'node1';
const PATIENCE_MS = 10_000;

export async function benchStart(): Promise<BenchRow[]> {
  const sluice = join(builtFolder(), 'cli/sluice.js');
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await startToRules(sluice));
  return [absolute("start to rules in force, the demo's node", 'ms', median(times), 500)];
}

async function startToRules(sluice: string): Promise<number> {
  const cluster = await readShop();
  const netns = new Netns();
  const kernel = await netns.run(() => openNftKernel());
  const startMs = performance.now();
  const agent = netns.run(() => startAgent(sluice));
  try {
    return (await programmed(kernel, cluster, agent)) - startMs;
  } finally {
    agent.kill();
    await once(agent, 'exit');
    kernel.close();
    netns.close();
  }
}

function startAgent(sluice: string): ChildProcess {
  const command = [sluice, 'agent', '--node', NODE, '--manifests', SHOP];
  return spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The moment from which the kernel has all of the rules: some commits bring them, of which the last one counts. */
async function programmed(kernel: Kernel, cluster: ClusterState, agent: ChildProcess): Promise<number> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let seen = await kernel.generation(); ; ) {
    const generation = await kernel.generation();
    const sinceMs = performance.now();
    if (generation !== seen && (await isInForce(kernel, cluster))) return sinceMs;
    seen = generation;
    if (agent.exitCode !== null || sinceMs > deadline) throw new Error('the agent did not program its rules');
    await setTimeout(1);
  }
}

async function isInForce(kernel: Kernel, cluster: ClusterState): Promise<boolean> {
  const { ruleset } = await kernel.dump();
  const { queue } = kernel;
  const rules = { cluster, node: NODE, queue, unknownPods: 'allow', podLinks: 'others' } as const;
  return ruleset.tables.size > 0 && plan(ruleset, desiredAsProgrammed(ruleset, rules)).length === 0;
}

async function readShop(): Promise<ClusterState> {
  const state = new ClusterState();
  const source = watchManifests(SHOP, {
    onEvents: events => events.forEach(event => void state.apply(event)),
    onProblems: () => undefined,
  });
  await source.ready;
  await source.close();
  return state;
}
