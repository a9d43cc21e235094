/**
 * The cost of attached pods for an agent: it should be zero while nothing changes, and zero for an element of policy
 * that is added or removed. `npm run bench -- attach` measures the attaching itself.
 */
import { setTimeout } from 'node:timers/promises';
import { Agent } from '../src/agent/agent.ts';
import { compile } from '../src/compiler/compile.ts';
import { Incremental } from '../src/compiler/live/incremental.ts';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import { type ClusterEvent, ClusterState } from '../src/model/cluster.ts';
import type { PodLinks } from '../src/model/podlinks.ts';
import { withoutRepeats } from '../src/model/repeats.ts';
import type { Kernel } from '../src/nft/kernel.ts';
import { plan } from '../src/nft/plan/plan.ts';
import { MEMBER, type SetSpec } from '../src/nft/ruleset.ts';
import { Netns } from './lab/unnamed.ts';
import { absolute, againstFloor, type BenchRow, median } from './row.ts';

const NODES = [1000, 5000];
/** The tables are looked at every second, and verified every 30 s. */
const WATCHED_MS = 300_000;
const ROUNDS = 15;
const PAIRS = 2000;
const NODE = 'n0';

export async function benchAttached(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const count of NODES) {
    const nodes = `${count.toLocaleString('en')} nodes`;
    const { commits, cpu } = await idle(nodeEvents(count));
    rows.push(
      absolute(`changes of nftables by an idle agent that attaches pods, ${nodes}`, 'requests', commits, 0),
    );
    rows.push(absolute(`CPU of it, of a core, ${nodes}`, '%', cpu, 0.2));
  }
  const { value, floor } = await oneElement(nodeEvents(5000));
  rows.push(againstFloor('commit of one element, with attached pods and without', 'µs', value, floor, 1.1));
  return rows;
}

/** Networks that neither meet nor touch. */
function nodeEvents(count: number): ClusterEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const podCidrs = [`10.${i >> 7}.${2 * (i & 127)}.0/24`, `fd00:${(2 * i).toString(16)}::/64`];
    const value = { name: `n${i}`, labels: {}, addresses: [], podCidrs };
    return { type: 'node', key: value.name, value };
  });
}

/** Measures the loop, the engine and the kernel in this process, which does nothing else. */
async function idle(events: readonly ClusterEvent[]): Promise<{ commits: number; cpu: number }> {
  const netns = new Netns();
  const stop = new AbortController();
  const silent = () => {};
  const agent = new Agent({
    open: () => netns.run(() => openNftKernel({ podLinks: 'ours' })),
    engine: () => new Incremental(NODE, 'allow', 'ours'),
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  const running = agent.run(stop.signal);
  const watcher = await netns.run(() => openNftKernel());
  try {
    agent.apply(events);
    await setTimeout(5000);
    const [before, cpu] = [await watcher.generation(), process.cpuUsage()];
    // Node heartbeats, in the form in which the pipeline passes them on.
    for (let waited = 0; waited < WATCHED_MS; waited += 1000) {
      agent.apply(withoutRepeats(structuredClone(events.slice(0, events.length / 300)), agent.cluster));
      await setTimeout(1000);
    }
    const { user, system } = process.cpuUsage(cpu);
    return { commits: (await watcher.generation()) - before, cpu: (user + system) / 10 / WATCHED_MS };
  } finally {
    stop.abort();
    await running;
    watcher.close();
    netns.close();
  }
}

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };

async function oneElement(events: readonly ClusterEvent[]): Promise<{ value: number; floor: number }> {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  const made: { kernel: Kernel; netns: Netns; times: number[] }[] = [];
  for (const podLinks of ['ours', 'others'] satisfies PodLinks[]) {
    const netns = new Netns();
    const kernel = await netns.run(() => openNftKernel({ quietMs: 0, podLinks }));
    await kernel.commit(plan({ tables: new Map() }, compile(state, NODE, 'allow', podLinks)));
    await kernel.commit([{ op: 'addSet', family: 'ip', set: PEERS, size: 256 }]);
    made.push({ kernel, netns, times: [] });
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const { kernel, times } of made) times.push(await pairs(kernel));
  const [ours, others] = made.map(({ times }) => median(times.slice(1)));
  for (const { kernel, netns } of made) {
    kernel.close();
    netns.close();
  }
  return { value: ours!, floor: others! };
}

/** The median time that an addition took, in µs. */
async function pairs(kernel: Kernel): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < PAIRS; i++) {
    const start = performance.now();
    await kernel.commit([{ op: 'addElements', family: 'ip', set: PEERS, elements: [['192.0.2.1', MEMBER]] }]);
    times.push((performance.now() - start) * 1000);
    await kernel.commit([{ op: 'delElements', family: 'ip', set: PEERS, keys: ['192.0.2.1'] }]);
  }
  return median(times);
}
