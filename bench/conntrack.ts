/**
 * Open connections at size: the kernel tracks 100,000, and a policy edit denies 1,000 of them. Measures the time from
 * the commit until they are cut, and how long the event loop is blocked meanwhile.
 */
import { setTimeout } from 'node:timers/promises';
import { LiveConnections } from '../src/agent/connections/liveconnections.ts';
import { Incremental } from '../src/compiler/live/incremental.ts';
import { openConntrack } from '../src/kernel/netlink/conntrack/conntrack.ts';
import { type Address, parseAddress } from '../src/model/address.ts';
import type { ClusterEvent, PodKey } from '../src/model/cluster.ts';
import { Netns } from './lab/unnamed.ts';
import { absolute, type BenchRow, median } from './row.ts';
import { shopPod, shopPolicy } from './shop.ts';
import { track } from './trackedconnection.ts';

const CONNECTIONS = 100_000;
const DENIED = 1_000;
const EVERY = CONNECTIONS / DENIED;
const SERVERS = 100;
const ROUNDS = 5;
const PORT = 8080;

export async function benchConntrack(): Promise<BenchRow[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await cutOnce());
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick));
  return [
    absolute(
      '1,000 of 100,000 connections denied: until cut',
      'ms',
      middle(({ tookMs }) => tookMs),
      500,
    ),
    absolute(
      'longest turn of the event loop during it, CPU time',
      'ms',
      middle(({ turnMs }) => turnMs),
      10,
    ),
    absolute(
      'event-loop gap during it',
      'ms',
      middle(({ gapMs }) => gapMs),
      10,
    ),
  ];
}

interface Round {
  readonly tookMs: number;
  readonly gapMs: number;
  /** The longest gap in CPU time, so that other processes on the machine do not count. */
  readonly turnMs: number;
}

async function cutOnce(): Promise<Round> {
  const netns = new Netns();
  const conntrack = netns.run(openConntrack);
  try {
    netns.run(fill);
    const quiet = () => {};
    const log = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (_: object, text: string) => console.error(text),
    };
    const live = new LiveConnections({ conntrack, ownAddresses: () => new Set(), log });
    const engine = new Incremental('n1');
    const note = (events: readonly ClusterEvent[]) => {
      for (const event of events) engine.apply(event);
      live.committed({ cluster: engine.cluster, ruleset: engine.flush(), ops: CHANGED, unknownBefore: true });
    };
    note([...pods(), allow('client', 'guest')]);
    await live.settled();
    expectCut(live, 0);
    const round = await watched(async () => {
      note([allow('client')]);
      await live.settled();
    });
    expectCut(live, DENIED);
    return round;
  } finally {
    conntrack.close();
    netns.close();
  }
}

const CHANGED = [{ op: 'flushChain', family: 'ip', chain: 'any' }] as const;

function expectCut({ counts }: LiveConnections, count: number): void {
  if (counts.cut !== count) throw new Error(`${counts.cut} connections cut, not ${count}`);
}

/** Servers on this node; one client that stays allowed, and one guest that does not. */
function pods(): ClusterEvent[] {
  const servers = Array.from({ length: SERVERS }, (_, i) =>
    shopPod(`shop/server-${i}`, 'n1', [serverAddress(i)], { app: 'server' }),
  );
  const others = (['client', 'guest'] as const).map((app, i) =>
    shopPod(`shop/${app}` satisfies PodKey, 'n2', [CLIENTS[i]!], { app }),
  );
  return [...servers, ...others];
}

const CLIENTS = [parseAddress('10.9.0.1')!, parseAddress('10.9.0.2')!];

function serverAddress(i: number): Address {
  return parseAddress(`10.1.0.${i + 1}`)!;
}

function allow(...apps: string[]): ClusterEvent {
  return shopPolicy('server', {
    podSelector: { matchLabels: { app: 'server' } },
    policyTypes: ['Ingress'],
    ingress: [
      { from: apps.map(app => ({ podSelector: { matchLabels: { app } } })), ports: [{ port: PORT }] },
    ],
  });
}

/** One in a hundred is the guest's. */
function fill(): void {
  track(
    Array.from({ length: CONNECTIONS }, (_, i) => ({
      from: CLIENTS[i % EVERY === 0 ? 1 : 0]!,
      sourcePort: 1024 + (i % 1000),
      to: serverAddress(Math.floor(i / 1000)),
      port: PORT,
      protocol: 'TCP',
    })),
  );
}

/** How long work took, and the longest time between two turns of the event loop that were 1 ms apart. */
async function watched(work: () => Promise<void>): Promise<Round> {
  let running = true;
  const gaps = longestGap(() => running);
  const startMs = performance.now();
  await work();
  const tookMs = performance.now() - startMs;
  running = false;
  return { tookMs, ...(await gaps) };
}

async function longestGap(isRunning: () => boolean): Promise<Omit<Round, 'tookMs'>> {
  let [gapMs, turnMs] = [0, 0];
  while (isRunning()) {
    const [startMs, cpu] = [performance.now(), process.threadCpuUsage()];
    await setTimeout(1);
    const { user, system } = process.threadCpuUsage(cpu);
    gapMs = Math.max(gapMs, performance.now() - startMs - 1);
    turnMs = Math.max(turnMs, (user + system) / 1000);
  }
  return { gapMs, turnMs };
}
