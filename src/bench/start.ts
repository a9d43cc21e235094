/** From the start of the agent, as it is built and installed, to the rules of the demo's node in force. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { compile } from '../compiler/compile.ts';
import { watchManifests } from '../files/source.ts';
import { Netns } from '../lab/unnamed.ts';
import { ClusterState } from '../model/cluster.ts';
import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../nft/kernel.ts';
import { plan } from '../nft/plan/plan.ts';
import { builtFolder } from './build.ts';
import { absolute, type BenchRow, median } from './row.ts';

const ROUNDS = 7;
const SHOP = join(import.meta.dirname, '../../examples/shop');
const NODE = 'node1';
const PATIENCE_MS = 10_000;

export async function benchStart(): Promise<BenchRow[]> {
  const sluice = join(builtFolder(), 'cli/sluice.js');
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await startToRules(sluice));
  return [absolute("start to rules in force, the demo's node", 'ms', median(times), 500)];
}

async function startToRules(sluice: string): Promise<number> {
  const netns = new Netns();
  const kernel = await netns.run(() => openNftKernel());
  const startMs = performance.now();
  const agent = netns.run(() => startAgent(sluice));
  try {
    await changed(kernel, agent);
    const tookMs = performance.now() - startMs;
    await checkComplete(kernel);
    return tookMs;
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

/** The agent's first commit brings all of its rules, and is the first of its namespace. */
async function changed(kernel: Kernel, agent: ChildProcess): Promise<void> {
  const before = await kernel.generation();
  const deadline = performance.now() + PATIENCE_MS;
  while ((await kernel.generation()) === before) {
    if (agent.exitCode !== null || performance.now() > deadline)
      throw new Error('the agent programmed nothing');
    await setTimeout(1);
  }
}

async function checkComplete(kernel: Kernel): Promise<void> {
  const state = new ClusterState();
  const source = watchManifests(SHOP, {
    onEvents: events => events.forEach(event => void state.apply(event)),
    onProblems: () => undefined,
  });
  await source.ready;
  await source.close();
  const { ruleset } = await kernel.dump();
  const missing = plan(ruleset, compile(state, NODE));
  if (missing.length > 0) throw new Error(`the agent's first commit left ${missing.length} changes to do`);
}
