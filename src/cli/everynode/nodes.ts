/** The agents of all nodes, asked at once: nodes that come are asked too, for as long as somebody follows. */
import { ownSignal } from '../../lib/async/ownsignal.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';
import { type FollowOptions, followNode } from './follownode.ts';
import { LetIn } from './letin.ts';

export interface NodesOptions
  extends Pick<FollowOptions, 'words' | 'forever' | 'note' | 'finish' | 'end' | 'againMs'> {
  readonly agents: Agents;
  /** What the agent of a node says: an answer is what is wrong with it. */
  readonly take: (node: string, line: string) => string | undefined;
  /** All nodes that are asked have told what they knew before, or are away. */
  readonly onAllFirst?: () => void;
  readonly onAway?: (node: string) => void;
  readonly listMs?: number;
}

const LIST_MS = 3_000;

/** Whether all nodes have told all. Throws CommandError where there is no agent, or a right is missing. */
export async function askNodes(options: NodesOptions): Promise<boolean> {
  const ended = new AbortController();
  const end = AbortSignal.any([options.end, ended.signal]);
  try {
    return await new Nodes(options, end).run();
  } catch (error) {
    throw error instanceof MissingRight ? new CommandError(error.message) : error;
  } finally {
    ended.abort();
  }
}

class Nodes {
  readonly #options: NodesOptions;
  readonly #end: AbortSignal;
  readonly #pods = new Map<string, AgentPod>();
  /** By their nodes. */
  readonly #asked = new Map<string, Promise<boolean>>();
  readonly #unheard = new Set<string>();
  readonly #letIn = new LetIn();
  readonly #right = Promise.withResolvers<never>();
  #listFailed = false;

  constructor(options: NodesOptions, end: AbortSignal) {
    this.#options = options;
    this.#end = end;
    this.#right.promise.catch(() => undefined);
  }

  async run(): Promise<boolean> {
    await this.#begin();
    if (this.#options.forever) await Promise.race([this.#listOn(), this.#right.promise]);
    const all = await Promise.race([Promise.all(this.#asked.values()), this.#right.promise]);
    return all.every(isWhole => isWhole);
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

  async #listOn(): Promise<void> {
    const { agents, note, listMs = LIST_MS, finish } = this.#options;
    const stop = finish === undefined ? this.#end : AbortSignal.any([this.#end, finish]);
    for (;;) {
      await sleep(listMs, stop);
      if (stop.aborted) return;
      try {
        this.#take(await agents.list());
        if (this.#listFailed) note('the API server answers again');
        this.#listFailed = false;
      } catch (error) {
        if (!this.#listFailed) note(`the API server does not answer: ${(error as Error).message}`);
        this.#listFailed = true;
      }
    }
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
    const { take, onAway, ...options } = this.#options;
    this.#unheard.add(node);
    this.#letIn.ask(node);
    const following = followNode({
      ...options,
      node,
      pod: () => this.#pods.get(node),
      take: line => take(node, line),
      onFirst: () => this.#onFirst(node),
      onAway: () => onAway?.(node),
      letIn: this.#letIn,
      end: ownSignal(this.#end),
      ...(options.finish && { finish: ownSignal(options.finish) }),
    });
    following.catch(error => this.#right.reject(error));
    return following;
  }

  #onFirst(node: string): void {
    this.#unheard.delete(node);
    this.#letIn.over(node);
    if (this.#unheard.size === 0) this.#options.onAllFirst?.();
  }
}
