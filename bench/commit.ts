/**
 * A commit against the same batch sent from C: one element (the event of a remote pod), and a hundred thousand (a
 * start on a big cluster). Both sides have a network namespace of their own, and take turns.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { Batch } from '../src/kernel/netlink/nftables/batch.ts';
import { BatchEncoder } from '../src/kernel/netlink/nftables/encode.ts';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import { OWNED } from '../src/kernel/netlink/nftables/ownership.ts';
import type { Kernel } from '../src/nft/kernel.ts';
import type { Op } from '../src/nft/plan/op.ts';
import { MEMBER, type SetSpec } from '../src/nft/ruleset.ts';
import { Netns } from './lab/unnamed.ts';
import { absolute, againstFloor, type BenchRow, beyondFloor, median } from './row.ts';

const ROUNDS = 15;
const PAIRS = 2000;
const BIG_ROUNDS = 7;
const ELEMENTS = 100_000;

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
const KEYS = Array.from({ length: ELEMENTS }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);

const MAKE: Op[] = [
  { op: 'addTable', family: 'ip' },
  { op: 'addSet', family: 'ip', set: PEERS, size: 131_072 },
];
const FILL: Op[] = [
  { op: 'addElements', family: 'ip', set: PEERS, elements: KEYS.map(key => [key, MEMBER]) },
];
const UNMAKE: Op[] = [{ op: 'delTable', family: 'ip' }];
const ADD: Op[] = [{ op: 'addElements', family: 'ip', set: PEERS, elements: [['192.0.2.1', MEMBER]] }];
const DEL: Op[] = [{ op: 'delElements', family: 'ip', set: PEERS, keys: ['192.0.2.1'] }];

export async function benchCommit(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const netns = new Netns();
  const floor = new Floor(folder, [MAKE, FILL, UNMAKE, ADD, DEL]);
  try {
    return [...(await oneElement(netns, floor)), ...(await manyElements(netns, floor))];
  } finally {
    floor.close();
    netns.close();
    rmSync(folder, { recursive: true });
  }
}

async function oneElement(netns: Netns, floor: Floor): Promise<BenchRow[]> {
  // quietMs is 0, so ForeignWriters never waits: no other process knows this namespace.
  const onLoop = await netns.run(() => openNftKernel({ quietMs: 0 }));
  await onLoop.commit(MAKE);
  await floor.time(1, MAKE);
  const quiet = await rounds(onLoop, floor);
  onLoop.close();
  const onThread = await netns.run(() => openNftKernel({ quietMs: Number.POSITIVE_INFINITY }));
  const busy = await rounds(onThread, floor);
  await onThread.commit(UNMAKE);
  await floor.time(1, UNMAKE);
  onThread.close();
  return [
    againstFloor('commit of one element, quiet namespace', 'µs', quiet.ours, quiet.floor, 1.2),
    // Not compared with C: the two hand-overs between threads ensure that no other process's commit ever blocks the
    // event loop.
    absolute('commit of one element, others write too', 'µs', busy.ours, 100),
  ];
}

async function rounds(kernel: Kernel, floor: Floor): Promise<{ ours: number; floor: number }> {
  const ours: number[] = [];
  const theirs: number[] = [];
  await pairs(kernel, PAIRS); // warm
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push((await floor.time(PAIRS, ADD, DEL)) / 1000);
    ours.push(await pairs(kernel, PAIRS));
  }
  return { ours: median(ours), floor: median(theirs) };
}

/** The median time that an addition took, in µs. */
async function pairs(kernel: Kernel, count: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await kernel.commit(ADD);
    times.push((performance.now() - start) * 1000);
    await kernel.commit(DEL);
  }
  return median(times);
}

async function manyElements(netns: Netns, floor: Floor): Promise<BenchRow[]> {
  const kernel = await netns.run(() => openNftKernel());
  const rounds: { ours: number; theirs: number; gap: Gap; idle: Gap }[] = [];
  for (let round = 0; round < BIG_ROUNDS; round++) {
    await floor.time(1, MAKE);
    const [theirs, idle] = await watched(() => floor.time(1, FILL));
    await floor.time(1, UNMAKE);
    await kernel.commit(MAKE);
    const [ours, gap] = await watched(() => timed(() => kernel.commit(FILL)));
    await kernel.commit(UNMAKE);
    rounds.push({ ours, theirs: theirs / 1e6, gap, idle });
  }
  kernel.close();
  const middle = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick));
  return [
    againstFloor(
      'commit of 100,000 elements',
      'ms',
      middle(({ ours }) => ours),
      middle(({ theirs }) => theirs),
      1.1,
    ),
    absolute(
      'longest turn of the event loop during it, CPU time',
      'ms',
      middle(({ gap }) => gap.cpu),
      10,
    ),
    // If the kernel is not preemptible, any process's commit delays whatever waits for its CPU. The floor is the gap of
    // an idle loop while bench/commit.c, another process, commits the same (docs/decisions/0008).
    beyondFloor(
      'event-loop gap during it, beyond that of an idle loop',
      'ms',
      middle(({ gap }) => gap.wall),
      middle(({ idle }) => idle.wall),
      10,
    ),
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The longest time between two turns of the event loop that were 1 ms apart, and what we did with it. */
interface Gap {
  readonly wall: number;
  readonly cpu: number;
}

async function watched<T>(work: () => Promise<T>): Promise<[T, Gap]> {
  let running = true;
  const watch = (async () => {
    let longest: Gap = { wall: 0, cpu: 0 };
    while (running) {
      const [start, cpu] = [performance.now(), process.threadCpuUsage()];
      await setTimeout(1);
      const { user, system } = process.threadCpuUsage(cpu);
      longest = {
        wall: Math.max(longest.wall, performance.now() - start - 1),
        cpu: Math.max(longest.cpu, (user + system) / 1000),
      };
    }
    return longest;
  })();
  const result = await work().finally(() => {
    running = false;
  });
  return [result, await watch];
}

/** bench/commit.c, in a network namespace of its own, with our batches. */
class Floor {
  readonly #netns = new Netns();
  readonly #batches: readonly Op[][];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;

  constructor(folder: string, batches: Op[][]) {
    this.#batches = batches;
    const program = join(folder, 'commit');
    execFileSync('cc', ['-O2', '-o', program, join(import.meta.dirname, 'commit.c')]);
    const files = batches.map((ops, i) => {
      const file = join(folder, `batch-${i}`);
      writeFileSync(file, bytesOf(ops));
      return file;
    });
    this.#child = this.#netns.run(() => spawn(program, files));
    this.#child.stderr.pipe(process.stderr);
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Sends the batches in turn, `count` times; the median time that the first of them took, in ns. */
  async time(count: number, ...batches: Op[][]): Promise<number> {
    this.#child.stdin.write(`${count} ${batches.map(ops => this.#batches.indexOf(ops)).join(' ')}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error('bench/commit.c ended early');
    return Number(value);
  }

  close(): void {
    this.#child.stdin.end();
    this.#netns.close();
  }
}

/** As the kernel is sent it, but without the lock on a generation that is another at every turn. */
function bytesOf(ops: readonly Op[]): Buffer {
  const batch = new Batch();
  const additions = ops.every(({ op }) => op === 'addElements') ? 'new' : 'any';
  const encoder = new BatchEncoder(batch, {
    ops,
    firstSequence: 1,
    expected: 0,
    ack: 'end',
    tableFlags: OWNED,
    tables: [],
    echo: false,
    additions,
  });
  while (encoder.encode());
  return Buffer.copyBytesFrom(batch.written.buffer, 0, batch.written.length);
}
