/**
 * A node whose agent is killed and restarted, perhaps with other options, over one kernel. In every state that packets
 * meet, a packet that is denied before the changes, after them and after any part of them is denied.
 */
import { Agent } from '../../../src/agent/agent.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { type DenialLimits, withDenialLimits } from '../../../src/compiler/denied.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import { type CounterKind, withRuleCounters } from '../../../src/compiler/rulecounters.ts';
import { familyOf } from '../../../src/model/address.ts';
import { type Cluster, type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import { clusterEvents } from '../../../src/model/clusterevents.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { KernelError } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { trace } from '../../../src/nft/trace/trace.ts';
import type { Enforced } from '../arbitrary/enforced.ts';
import { FakeKernel } from '../kernel/fake.ts';
import { VirtualTime } from './virtualtime.ts';

const NODE = 'n1';
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** After this time an agent has processed all its events. */
const SETTLED_MS = 10_000;
/** Limits so small that a few peers and rules take several turns, and several batches. */
const SMALL = { mostLookups: 2, portion: 60 };

/** How an agent is started. */
export interface Manner extends Enforced {
  /** The counters that its rules have. */
  readonly counts?: CounterKind | undefined;
  /** The limits within which denials are named. */
  readonly denials?: DenialLimits | undefined;
}

export interface RestartTally {
  restarts: number;
  /** Restarts in which the agent was killed in the middle of a commit. */
  killed: number;
  /** States of the kernel, and verdicts that were asked of them. */
  states: number;
  verdicts: number;
  denied: number;
  /** The number of committed batches. */
  commits: number;
  /** States in which small policies are in bundles. */
  bundled: number;
}

export interface Life {
  /** Events of one object each. */
  readonly events: readonly ClusterEvent[];
  /** The agent is killed before this batch of those that follow the events, if there are so many; or afterwards. */
  readonly killedBefore?: number;
  /** Events that happen while no agent runs. */
  readonly meanwhile: readonly ClusterEvent[];
  /** The order in which the next agent gets the objects, and the options with which it starts. */
  readonly order: number;
  readonly manner: Manner;
}

export class RestartedNode {
  readonly #time = new VirtualTime();
  readonly #fake = new FakeKernel({ owners: true });
  readonly #cluster = new ClusterState();
  readonly #portion: number;
  #manner: Manner;
  readonly #flows: readonly Flow[];
  readonly #tally: RestartTally;
  #agent!: Agent;
  #stop!: AbortController;
  #ended!: Promise<void>;
  /** How many batches it is still to live. */
  #batchesLeft = Number.POSITIVE_INFINITY;
  /** The rulesets before the changes, after them, and after parts of them. */
  #ends: readonly Ruleset[] = [];
  readonly #verdicts = new WeakMap<Ruleset, readonly Judged[]>();
  #wrong: string | undefined;

  /** `portion` is the weight of a batch of what goes ahead. */
  constructor(manner: Manner, flows: readonly Flow[], tally: RestartTally, portion = SMALL.portion) {
    this.#portion = portion;
    this.#manner = manner;
    this.#flows = flows;
    this.#tally = tally;
  }

  /** The first agent, on a fresh kernel. */
  async begin(events: readonly ClusterEvent[]): Promise<void> {
    for (const event of events) this.#cluster.apply(event);
    await this.#start(0);
  }

  async live({ events, killedBefore, meanwhile, order, manner }: Life): Promise<void> {
    this.#batchesLeft = killedBefore ?? Number.POSITIVE_INFINITY;
    this.#ends = partsOf(events).map(part => this.#desired(clusterWith(this.#cluster, part)));
    for (const event of events) this.#cluster.apply(event);
    this.#agent.apply(events);
    await this.#settle();
    if (killedBefore === undefined) return this.#check();
    if (this.#stop.signal.aborted) this.#tally.killed++;
    await this.end();
    for (const each of meanwhile) this.#cluster.apply(each);
    this.#manner = manner;
    await this.#start(order);
  }

  /** Like a kill: its socket is closed, and its rules stay. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #start(order: number): Promise<void> {
    this.#tally.restarts++;
    this.#batchesLeft = Number.POSITIVE_INFINITY;
    this.#ends = [(await this.#fake.another().dump()).ruleset, this.#desired()];
    this.#stop = new AbortController();
    const manner = this.#manner;
    this.#agent = new Agent({
      open: async () => this.#watched(),
      engine: () => this.#engine(),
      passes: [ruleset => inManner(ruleset, manner)],
      node: NODE,
      log: SILENT,
      timing: this.#time,
      portion: this.#portion,
    });
    this.#agent.apply(inOrder(clusterEvents(this.#cluster), order));
    const stop = this.#stop;
    this.#ended = this.#agent.run(stop.signal).catch(error => {
      if (!stop.signal.aborted) this.#wrong ??= `the agent has ended: ${error.message}`;
      stop.abort();
    });
    await this.#settle();
    await this.#check();
  }

  #settle(): Promise<void> {
    return this.#time.pass(SETTLED_MS, () => this.#stop.signal.aborted);
  }

  /** A socket on the one kernel, of which every state is looked at; it dies with its process. */
  #watched(): FakeKernel {
    const kernel = this.#fake.another();
    const commit = kernel.commit.bind(kernel);
    const stop = this.#stop;
    kernel.commit = async (ops, expected) => {
      if (ops.length > 0 && this.#batchesLeft-- <= 0) stop.abort();
      if (stop.signal.aborted) throw new KernelError('EBADF', 'EBADF: the process has ended');
      const generation = await commit(ops, expected);
      if (ops.length > 0) this.#look((await kernel.dump()).ruleset);
      this.#tally.commits++;
      return generation;
    };
    return kernel;
  }

  #look(now: Ruleset): void {
    this.#tally.states++;
    if (hasBundles(now)) this.#tally.bundled++;
    const ends = this.#ends.map(ruleset => this.#verdictsOf(ruleset));
    this.#verdictsOf(now).forEach(({ flow, iifkind, verdict }, i) => {
      this.#tally.verdicts++;
      if (verdict === 'drop') this.#tally.denied++;
      if (!ends.some(verdicts => verdicts[i]!.verdict === verdict))
        this.#wrong ??= `${verdict} for a moment: ${JSON.stringify(flow)} by ${iifkind ?? 'hardware'}`;
    });
  }

  #verdictsOf(ruleset: Ruleset): readonly Judged[] {
    const known = this.#verdicts.get(ruleset) ?? this.#flows.flatMap(flow => judge(ruleset, flow));
    this.#verdicts.set(ruleset, known);
    return known;
  }

  async #check(): Promise<void> {
    if (this.#wrong !== undefined) throw new Error(this.#wrong);
    const left = plan((await this.#fake.another().dump()).ruleset, this.#desired());
    if (left.length > 0) throw new Error(`not what compile makes: ${JSON.stringify(left).slice(0, 2000)}`);
  }

  #engine() {
    const { unknownPods, podLinks, dnsQueue } = this.#manner;
    return new Incremental(NODE, unknownPods, podLinks, dnsQueue, { mostLookups: SMALL.mostLookups });
  }

  #desired(cluster: Cluster = this.#cluster): Ruleset {
    const { unknownPods, podLinks, dnsQueue } = this.#manner;
    return inManner(compile(cluster, NODE, unknownPods, podLinks, dnsQueue), this.#manner);
  }
}

function inManner(ruleset: Ruleset, { counts, denials }: Manner): Ruleset {
  return withDenialLimits(counts === undefined ? ruleset : withRuleCounters(ruleset, counts), denials);
}

function clusterWith(cluster: Cluster, events: readonly ClusterEvent[]): Cluster {
  const state = new ClusterState();
  for (const event of [...clusterEvents(cluster), ...events]) state.apply(event);
  return state;
}

/** Every part of them, the empty one too: each of them may have to wait for its turn. */
function partsOf<T>(values: readonly T[]): T[][] {
  const [first, ...rest] = values;
  if (first === undefined) return [[]];
  const others = partsOf(rest);
  return [...others, ...others.map(part => [first, ...part])];
}

function hasBundles({ tables }: Ruleset): boolean {
  return [...(tables.get('ip')?.chains.keys() ?? [])].some(name => /^(from|to)-.*-more$/.test(name));
}

interface Judged {
  readonly flow: Flow;
  readonly iifkind?: string;
  readonly verdict: 'accept' | 'drop';
}

/** Judges the flow as a packet from a pod of this node, and as one from elsewhere. */
function judge(ruleset: Ruleset, flow: Flow): Judged[] {
  return [{ iifkind: 'veth' }, {}].map(around => ({
    flow,
    ...around,
    verdict: trace(ruleset, familyOf(flow.from), 'forward', packet(flow), 'new', around).verdict,
  }));
}

/** A shuffled order that is the same for the same seed. */
function inOrder<T>(values: readonly T[], seed: number): T[] {
  return values
    .map((value, i) => ({ value, at: Math.imul(i + 1, 0x9e3779b1 ^ (seed << 7)) >>> 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
