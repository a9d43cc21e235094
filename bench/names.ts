/**
 * Peers by name: whether the first packet to a fresh name passes, for how long its answer waits, and what that costs.
 *
 *     pod ─▶ resolver ─▶ node: agent as it is built and run ─▶ pod ─▶ host behind the name
 *
 * How long an answer waits is what a pod with a rule by name waits longer than one without; they ask in turns.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import { builtFolder } from './build.ts';
import { establishedBeside } from './names/established.ts';
import { flood, type Visited, visit } from './names/load.ts';
import { NamesSite } from './names/site.ts';
import { onTestbed } from './packets/testbed.ts';
import { absolute, type BenchRow, beyondFloor, percentile } from './row.ts';

const BLOCKS = 10;
const BLOCK = 100;
const ANSWERS = 10_000;
const WARM_ROUNDS = 3;
/** The most addresses of a node. */
const ADDRESSES = 32_768;
const FEW = 256;
const COMPILED_ROUNDS = 60;
/** Questions a second; few enough that every answer waits for the agent. The limit of one pod is a thousand. */
const LEARN_RATE = 8_000;
const LIST_RATE = 5_000;
const LISTINGS = 10;
const LISTING_MS = 10_000;
/** Reports, garbage. */
const REST_MS = 3_000;

export async function benchNames(): Promise<BenchRow[]> {
  const dist = builtFolder();
  const site = await NamesSite.open(dist);
  try {
    // Memory is weighed after the first packets, so that it includes what they make the agent learn.
    const rows = [...(await firstPackets(site)), await memory(site), ...(await costs(site))];
    return [...rows, await listings(site), ...(await established())];
  } finally {
    await site.close();
  }
}

async function firstPackets(site: NamesSite): Promise<BenchRow[]> {
  const [held, free]: [Visited[], Visited[]] = [[], []];
  for (let block = 0; block < BLOCKS; block++) {
    held.push(await visit(site, 'named', block * BLOCK, BLOCK));
    free.push(await visit(site, 'free', block * BLOCK, BLOCK));
  }
  const names = BLOCKS * BLOCK;
  const answered = held.reduce((sum, each) => sum + each.answered, 0);
  if (answered < names) throw new Error(`${names - answered} of ${names} questions were not answered`);
  const lost = held.reduce((sum, each) => sum + each.lost, 0);
  const waited = (percent: number) =>
    [held, free].map(all =>
      percentile(
        all.flatMap(({ tookUs }) => tookUs),
        percent,
      ),
    ) as [number, number];
  return [
    absolute('first packets lost of 1,000 to fresh names', 'packets', lost, 0),
    beyondFloor('answer with its wait, p50, beyond one that does not wait', 'µs', ...waited(50), 150),
    beyondFloor('answer with its wait, p99, beyond one that does not wait', 'µs', ...waited(99), 2_000),
  ];
}

/** 64 questions are open at a time. Before, as many are answered as it takes until the agent is compiled. */
async function costs(site: NamesSite): Promise<BenchRow[]> {
  for (let round = 0; round < WARM_ROUNDS; round++) await flood(site, 0, ANSWERS, LIST_RATE);
  const kernel = await site.inNode(() => openNftKernel());
  const before = await kernel.generation();
  const steady = await cpuOf(site, LIST_RATE);
  const full = await cpuOf(site, 0);
  const commits = (await kernel.generation()) - before;
  kernel.close();
  return [
    absolute('CPU time of an answer, 5,000 a second', 'µs', steady, 45),
    absolute('CPU time of an answer, as many as go: 20,000 a second and core', 'µs', full, 50),
    absolute('commits that 20,000 answers cause', 'commits', commits, 0),
  ];
}

/** The agent's, all threads. */
async function cpuOf(site: NamesSite, rate: number): Promise<number> {
  const [cpuUs, queued] = [site.agent.cpuUs(), site.queued()];
  const { answered } = await flood(site, 0, ANSWERS, rate);
  const waited = site.queued() - queued;
  if (waited < answered * 0.95) throw new Error(`only ${waited} of ${answered} answers waited`);
  return (site.agent.cpuUs() - cpuUs) / waited;
}

/**
 * Names and addresses of which none is another's. Before, a few are asked for so often that the agent is compiled: that
 * takes memory too, and none of it is the addresses'.
 */
async function memory(site: NamesSite): Promise<BenchRow> {
  for (let round = 0; round < COMPILED_ROUNDS; round++) await flood(site, 0, FEW, LIST_RATE);
  await setTimeout(REST_MS);
  const before = site.agent.residentMb();
  await flood(site, 0, ADDRESSES, LEARN_RATE);
  await setTimeout(REST_MS);
  const grown = site.agent.residentMb() - before;
  return absolute('memory for 32,768 addresses', 'MB', grown, 20);
}

/** The agent has all addresses that it may have, and more come. */
async function listings(site: NamesSite): Promise<BenchRow> {
  const seconds = 20;
  const flooding = flood(site, 0, LIST_RATE * seconds, LIST_RATE);
  await setTimeout(500);
  let failed = 0;
  for (let i = 0; i < LISTINGS; i++) if (!(await lists(site))) failed++;
  const { perSecond } = await flooding;
  if (perSecond < LIST_RATE * 0.9)
    console.error(`names: only ${perSecond.toFixed(0)} answers a second, not ${LIST_RATE}, while nft listed`);
  return absolute(
    'nft list ruleset that did not finish, of 10, at 5,000 answers a second',
    'listings',
    failed,
    0,
  );
}

async function lists(site: NamesSite): Promise<boolean> {
  const child = site.inNode(() =>
    spawn('nft', ['list', 'ruleset'], { stdio: 'ignore', timeout: LISTING_MS }),
  );
  const [code] = await once(child, 'exit');
  return code === 0;
}

function established(): Promise<BenchRow[]> {
  return onTestbed(process.argv.includes('--verbose'), async testbed => [await establishedBeside(testbed)]);
}
