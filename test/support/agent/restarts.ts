/**
 * A node whose agent is killed and started again, over one kernel: in every state that its packets meet, whatever is
 * denied before a change and after it is denied.
 */
import { Agent } from '../../../src/agent/agent.ts';
import { replay } from '../../../src/agent/replay.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import { familyOf } from '../../../src/model/address.ts';
import { type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { FakeKernel } from '../../../src/nft/fake/fake.ts';
import { KernelError } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { trace } from '../../../src/nft/trace/trace.ts';
import { VirtualTime } from './virtualtime.ts';

const NODE = 'n1';
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** After it an agent has done all that it was told. */
const SETTLED_MS = 10_000;

export interface RestartTally {
  restarts: number;
  /** In the middle of a commit. */
  killed: number;
  /** States of the kernel, and verdicts that were asked of them. */
  states: number;
  verdicts: number;
  denied: number;
}

export interface Life {
  readonly event: ClusterEvent;
  /** The agent is killed before this batch of those that follow the event, if there are so many; or afterwards. */
  readonly killedBefore?: number;
  /** What happens while no agent runs. */
  readonly meanwhile: readonly ClusterEvent[];
  /** In which order the next one hears what there is. */
  readonly order: number;
}

export class RestartedNode {
  readonly #time = new VirtualTime();
  readonly #fake = new FakeKernel({ owners: true });
  readonly #cluster = new ClusterState();
  readonly #unknownPods: UnknownPods;
  readonly #flows: readonly Flow[];
  readonly #tally: RestartTally;
  #agent!: Agent;
  #stop!: AbortController;
  #ended!: Promise<void>;
  /** How many batches it is still to live. */
  #batchesLeft = Number.POSITIVE_INFINITY;
  /** What was in force before, and what is to be. */
  #ends: readonly Ruleset[] = [];
  readonly #verdicts = new WeakMap<Ruleset, readonly Judged[]>();
  #wrong: string | undefined;

  constructor(unknownPods: UnknownPods, flows: readonly Flow[], tally: RestartTally) {
    this.#unknownPods = unknownPods;
    this.#flows = flows;
    this.#tally = tally;
  }

  /** The first agent, on a fresh kernel. */
  async begin(events: readonly ClusterEvent[]): Promise<void> {
    for (const event of events) this.#cluster.apply(event);
    await this.#start(0);
  }

  async live({ event, killedBefore, meanwhile, order }: Life): Promise<void> {
    const before = this.#desired();
    this.#batchesLeft = killedBefore ?? Number.POSITIVE_INFINITY;
    this.#cluster.apply(event);
    this.#ends = [before, this.#desired()];
    this.#agent.note([event]);
    await this.#settle();
    if (killedBefore === undefined) return this.#check();
    if (this.#stop.signal.aborted) this.#tally.killed++;
    await this.end();
    for (const each of meanwhile) this.#cluster.apply(each);
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
    this.#agent = new Agent({
      open: async () => this.#watched(),
      engine: () => new Incremental(NODE, this.#unknownPods),
      node: NODE,
      log: SILENT,
      timing: this.#time,
    });
    this.#agent.note(inOrder(replay(this.#cluster), order));
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
      return generation;
    };
    return kernel;
  }

  #look(now: Ruleset): void {
    this.#tally.states++;
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

  #desired(): Ruleset {
    return compile(this.#cluster, NODE, this.#unknownPods);
  }
}

interface Judged {
  readonly flow: Flow;
  readonly iifkind?: string;
  readonly verdict: 'accept' | 'drop';
}

/** As it comes from a pod of this node, and from elsewhere. */
function judge(ruleset: Ruleset, flow: Flow): Judged[] {
  return [{ iifkind: 'veth' }, {}].map(around => ({
    flow,
    ...around,
    verdict: trace(ruleset, familyOf(flow.from), 'forward', packet(flow), 'new', around).verdict,
  }));
}

/** The same every time for one seed. */
function inOrder<T>(values: readonly T[], seed: number): T[] {
  return values
    .map((value, i) => ({ value, at: Math.imul(i + 1, 0x9e3779b1 ^ (seed << 7)) >>> 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
