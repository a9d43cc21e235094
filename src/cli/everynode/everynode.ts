/**
 * What the agents of all nodes tell, in one order of time: for as long as somebody follows, nodes that come are asked
 * too, and those that are away are asked again until they come back.
 */
import { sleep } from '../../async/sleep.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';
import { followNode } from './follownode.ts';
import { Reorder } from './reorder.ts';
import type { NodeReport } from './report.ts';

export interface EveryNodeOptions {
  readonly agents: Agents;
  /** The command that each is asked by. */
  readonly words: readonly string[];
  readonly follow: boolean;
  readonly print: (report: NodeReport) => Promise<void>;
  readonly note: (text: string) => void;
  readonly end: AbortSignal;
  readonly listMs?: number;
  readonly againMs?: number;
}

const LIST_MS = 3_000;
/** A machine's clock, a slow connection: what comes within it is in order. */
const HOLD_MS = 100;
const LOOK_MS = 20;
/** Until all have told what they have recorded. */
const START_MS = 5_000;
const MOST_HELD = 50_000;

/** Whether all nodes have told all. Throws CommandError where there is no agent, or a right is missing. */
export async function askEveryNode(options: EveryNodeOptions): Promise<boolean> {
  const ended = new AbortController();
  const end = AbortSignal.any([options.end, ended.signal]);
  try {
    return await new EveryNode(options, end).run();
  } catch (error) {
    throw error instanceof MissingRight ? new CommandError(error.message) : error;
  } finally {
    ended.abort();
  }
}

class EveryNode {
  readonly #options: EveryNodeOptions;
  readonly #end: AbortSignal;
  readonly #held: Reorder<NodeReport>;
  readonly #pods = new Map<string, AgentPod>();
  /** By their nodes. */
  readonly #asked = new Map<string, Promise<boolean>>();
  readonly #unheard = new Set<string>();
  #listFailed = false;
  #right = Promise.withResolvers<never>();

  constructor(options: EveryNodeOptions, end: AbortSignal) {
    this.#options = options;
    this.#end = end;
    this.#held = new Reorder({ holdMs: HOLD_MS, most: MOST_HELD }, performance.now() + START_MS);
    this.#right.promise.catch(() => undefined);
  }

  async run(): Promise<boolean> {
    await this.#begin();
    const { follow } = this.#options;
    const all = follow ? this.#listForever() : Promise.all(this.#asked.values());
    let isOver = false;
    const over = Promise.race([all, this.#right.promise]).finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    while (!isOver) {
      await this.#printAll(this.#held.due(performance.now()));
      await Promise.race([sleep(LOOK_MS), over.catch(() => undefined)]);
    }
    await this.#printAll(this.#held.rest());
    return (await over).every(isWhole => isWhole);
  }

  async #begin(): Promise<void> {
    const pods = await this.#options.agents.list().catch(error => {
      throw error instanceof MissingRight
        ? error
        : new CommandError(`the agents cannot be listed: ${(error as Error).message}`);
    });
    if (pods.length === 0)
      throw new CommandError('no agent runs in that namespace of the cluster: --agents names another');
    this.#take(pods);
  }

  async #listForever(): Promise<[]> {
    const { agents, note, listMs = LIST_MS } = this.#options;
    while (!this.#end.aborted) {
      await sleep(listMs, this.#end);
      if (this.#end.aborted) break;
      try {
        this.#take(await agents.list());
        if (this.#listFailed) note('the API server answers again');
        this.#listFailed = false;
      } catch (error) {
        if (!this.#listFailed) note(`the API server does not answer: ${(error as Error).message}`);
        this.#listFailed = true;
      }
    }
    return [];
  }

  #take(pods: readonly AgentPod[]): void {
    this.#pods.clear();
    for (const pod of pods) {
      // While an agent is replaced there may be two of a node.
      if (pod.phase === 'Running' || !this.#pods.has(pod.node)) this.#pods.set(pod.node, pod);
    }
    for (const node of [...this.#pods.keys()].sort())
      if (!this.#asked.has(node)) this.#asked.set(node, this.#ask(node));
  }

  #ask(node: string): Promise<boolean> {
    const { agents, words, follow, note, againMs } = this.#options;
    this.#unheard.add(node);
    const following = followNode({
      agents,
      node,
      pod: () => this.#pods.get(node),
      words,
      forever: follow,
      take: report => this.#held.add(report, performance.now()),
      note,
      onFirst: () => this.#onFirst(node),
      end: this.#end,
      ...(againMs !== undefined && { againMs }),
    });
    following.catch(error => this.#right.reject(error));
    return following;
  }

  #onFirst(node: string): void {
    this.#unheard.delete(node);
    if (this.#unheard.size === 0) this.#held.begin();
  }

  async #printAll(reports: readonly NodeReport[]): Promise<void> {
    for (const report of reports) await this.#options.print(report);
  }
}
