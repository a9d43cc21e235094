/**
 * The agent on the real kernel through a random walk of a cluster, while it is killed, loses its socket, and
 * others write nftables, their own and ours. At every quiet point what stands is what `compile` makes of the
 * state, and meanwhile not one packet is judged wrong.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { Agent } from '../../src/agent/agent.ts';
import { compile } from '../../src/compiler/compile.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import type { NftKernelOptions } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { NO_OWNERS } from '../../src/nft/missingfeature.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { hasted } from '../support/agent/hasted.ts';
import { eventsOf, historyArbitrary } from '../support/arbitrary/events.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { arrivals, Prober, type Trail } from '../support/packets/prober.ts';
import { ALLOWED_PORT, buildSite, FIRM_FLOWS, firmEvents, NODE, openIn } from '../support/packets/site.ts';
import { runs, SEED } from '../support/seed.ts';

const EVENTS = runs(2000, 500);
/** What a person would have to wait for is over a hundred times sooner here: the commits that there is budget for. */
const HASTE = 100;
const QUIET_WITHIN_MS = 10_000;

let lab: Lab;
let prober: Prober | undefined;
let walk: Walk | undefined;

beforeAll(async () => {
  lab = await buildSite('chaos');
});

afterEach(async () => {
  prober?.kill();
  await walk?.end();
  [prober, walk] = [undefined, undefined];
});

afterAll(() => lab?.remove());

/** An agent that may be killed at any time, and what it should have made of the cluster by now. */
class Walk {
  readonly state = new ClusterState();
  readonly log: string[] = [];
  readonly #options: NftKernelOptions;
  readonly #reader: Kernel;
  #agent!: Agent;
  #kernel: Kernel | undefined;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  static async start(options: NftKernelOptions, events: readonly ClusterEvent[]): Promise<Walk> {
    const walk = new Walk(options, await openIn(lab));
    for (const event of events) walk.state.apply(event);
    walk.#begin();
    await walk.quiet();
    return walk;
  }

  private constructor(options: NftKernelOptions, reader: Kernel) {
    this.#options = options;
    this.#reader = reader;
  }

  note(events: readonly ClusterEvent[]): void {
    for (const event of events) this.state.apply(event);
    this.#agent.apply(events);
  }

  /** Takes the socket from under the agent, which lives on. */
  loseSocket(): void {
    this.#kernel?.close();
  }

  /** The agent is gone in the middle of whatever it was doing; another begins with what the cluster is by now. */
  async kill(): Promise<void> {
    this.#stop.abort();
    this.#kernel?.close();
    await this.#running;
    this.#begin();
  }

  /** Until what stands is what should stand: whole, and ours where it can be. */
  async quiet(): Promise<void> {
    const desired = compile(this.state, NODE);
    for (const deadline = Date.now() + QUIET_WITHIN_MS; ; await setTimeout(5)) {
      const { ruleset } = await this.#reader.dump().catch(() => ({ ruleset: undefined }));
      if (ruleset !== undefined && plan(ruleset, desired).length === 0 && (await this.#isSettled())) {
        expect(withoutSizes(ruleset)).toEqual(desired);
        return;
      }
      if (Date.now() > deadline) throw new Error(`no quiet, seed ${SEED}: ${this.log.slice(-10).join('\n')}`);
    }
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#reader.close();
  }

  #begin(): void {
    const line = (_: object, message: string) => void this.log.push(message);
    this.#stop = new AbortController();
    this.#agent = new Agent({
      open: async () => {
        this.#kernel = await openIn(lab, this.#options);
        return this.#kernel;
      },
      engine: () => new Incremental(NODE),
      log: { debug: line, info: line, warn: line, error: line },
      timing: hasted(HASTE),
      patienceMs: 3000 * HASTE,
    });
    for (const event of eventsOf(this.state)) this.#agent.apply([event]);
    this.#running = this.#agent.run(this.#stop.signal);
    this.#running.catch(error => this.log.push(`the agent ended: ${error}`));
  }

  async #isSettled(): Promise<boolean> {
    return this.#options.without?.includes(NO_OWNERS) || (await this.#reader.owner()) === 'another';
  }
}

type Misfortune = (walk: Walk) => void | Promise<void>;

const nft = (script: string) =>
  inNamespace(lab.nodeNamespace(NODE), () =>
    spawnSync('nft', ['-f', '-'], { input: script, encoding: 'utf8' }),
  );

const FOREIGN_EDITS = [
  'flush ruleset',
  'delete table ip sluice',
  'delete table ip6 sluice',
  'flush chain ip sluice forward',
  'add rule ip sluice forward accept',
  'insert rule ip6 sluice forward drop',
  'add element ip sluice ingress-pods { 10.0.1.77 : accept }',
  'delete element ip sluice ingress-pods { 10.0.1.203 }',
  'add chain ip sluice theirs; add set ip sluice theirs { type ipv4_addr; }',
  'flush map ip sluice egress-pods',
];

const neighbour: Misfortune = () => {
  expect(nft('add table ip neighbour; delete table ip neighbour').stderr).toBe('');
};

/** At a quiet point, where the tables are owned: while their owner is gone they are anybody's. */
const foreignEdit =
  (edit: string): Misfortune =>
  async walk => {
    await walk.quiet();
    nft(edit);
  };

const MISFORTUNES: fc.Arbitrary<Misfortune> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Misfortune>(walk => walk.kill()) },
  { weight: 2, arbitrary: fc.constant<Misfortune>(walk => walk.loseSocket()) },
  { weight: 3, arbitrary: fc.constant(neighbour) },
  { weight: 4, arbitrary: fc.constantFrom(...FOREIGN_EDITS).map(foreignEdit) },
);

interface Stretch {
  readonly events: readonly ClusterEvent[];
  /** Sizes of the groups in which they are noted, and the pauses after each. */
  readonly groups: readonly { readonly size: number; readonly pauseMs: number }[];
  readonly misfortune: Misfortune;
}

const stretch: fc.Arbitrary<Stretch> = fc.record({
  events: historyArbitrary(20).map(steps => steps.map(({ event }) => event)),
  groups: fc.array(
    fc.record({ size: fc.integer({ min: 1, max: 12 }), pauseMs: fc.integer({ min: 0, max: 4 }) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  ),
  misfortune: MISFORTUNES,
});

/** Stretches of at least that many events. */
function stretchesOf(events: number): Stretch[] {
  const stretches: Stretch[] = [];
  let seed = SEED;
  for (let count = 0; count < events; count += stretches.at(-1)!.events.length)
    stretches.push(fc.sample(stretch, { seed: seed++, numRuns: 1 })[0]!);
  return stretches;
}

/** Half of the events, the misfortune in the middle of the batches that they make, and the rest. */
async function take(walk: Walk, { events, groups, misfortune }: Stretch): Promise<void> {
  const middle = events.length >> 1;
  let at = 0;
  let struck = false;
  for (let n = 0; at < events.length; n++) {
    const { size, pauseMs } = groups[n % groups.length]!;
    walk.note(events.slice(at, at + size));
    at += size;
    await setTimeout(pauseMs);
    if (struck || at < middle) continue;
    struck = true;
    await misfortune(walk);
  }
  await walk.quiet();
}

function wrongPackets(trails: readonly Trail[]): string[] {
  return trails.flatMap((trail, index) => {
    const flow = FIRM_FLOWS[index]!;
    const expected = flow.port === ALLOWED_PORT ? trail.sent : 0;
    expect(trail.sent).toBeGreaterThan(100);
    if (arrivals(trail) === expected) return [];
    return [
      `${flow.from} -> ${flow.to}:${flow.port}: ${arrivals(trail)} of ${trail.sent} arrived: ${JSON.stringify(trail.arrived.slice(0, 5))}`,
    ];
  });
}

test(`${EVENTS} events with kills, lost sockets and foreign edits end in the right rules, and no packet is judged wrong`, async () => {
  console.log(`chaos: SLUICE_SEED=${SEED}`);
  walk = await Walk.start({}, firmEvents());
  prober = await Prober.start(lab, FIRM_FLOWS);
  for (const stretch of stretchesOf(EVENTS)) await take(walk, stretch);
  expect(wrongPackets(await prober.stop())).toEqual([]);
});

test('where tables have no owner, kills, lost sockets and foreign edits end in the right rules too', async () => {
  walk = await Walk.start({ without: [NO_OWNERS] }, firmEvents());
  for (const stretch of stretchesOf(EVENTS / 4)) await take(walk, stretch);
  expect(walk.log).toContain('another process changed our tables; repairing');
});
