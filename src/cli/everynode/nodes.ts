/**
 * The agents of all nodes, asked at once: nodes that come are asked too, as long as the command follows. Their outputs stay
 * open together, and are opened some at a time.
 */

import { backoffMs } from '../../lib/async/backoff.ts';
import { deferred } from '../../lib/async/deferred.ts';
import { Gate } from '../../lib/async/gate.ts';
import { ownSignal } from '../../lib/async/ownsignal.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import {
  type AgentPod,
  type Agents,
  listedAgents,
  MissingRight,
  MOST_AT_ONCE,
  nodesUnknownText,
  podsByNode,
} from './agents.ts';
import { AwayNodes, MOST_NAMED, NodeNotes } from './nodenotes.ts';

export interface NodesOptions
  extends Pick<FollowOptions, 'words' | 'forever' | 'note' | 'finish' | 'end' | 'againMs'> {
  readonly agents: Agents;
  /** The one node that is asked, if not all are. */
  readonly only?: string;
  /**
   * Takes a line of a node's agent; returns what is wrong with it. `isRecorded`: it came before the node's first
   * heartbeat.
   */
  readonly take: (node: string, line: string, isRecorded: boolean) => string | undefined;
  /** Called when every node has sent its recorded reports, or is away. */
  readonly onAllFirst?: () => void;
  readonly onAway?: (node: string) => void;
  readonly listMs?: number;
}

const LIST_MS = 3_000;
/** Whether all nodes have sent everything. Throws CommandError where there is no agent, or a right is missing. */
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
  #pods: ReadonlyMap<string, AgentPod> = new Map();
  /** The commands under way, by their nodes. */
  readonly #asked = new Map<string, Promise<boolean>>();
  readonly #unheard = new Set<string>();
  readonly #access = new AccessCheck();
  readonly #opening = new Gate(MOST_AT_ONCE);
  readonly #away: AwayNodes;
  readonly #right = deferred<never>();
  #listFailed = false;
  #hasAllAgents = true;

  constructor(options: NodesOptions, end: AbortSignal) {
    this.#options = options;
    this.#end = end;
    this.#away = new AwayNodes(options.note);
    this.#right.promise.catch(() => undefined);
  }

  async run(): Promise<boolean> {
    const versions = this.#noteVersions(await this.#begin());
    if (this.#options.forever) await Promise.race([this.#listOn(), this.#right.promise]);
    const all = await Promise.race([Promise.all(this.#asked.values()), this.#right.promise]);
    if (!this.#options.forever) await versions;
    return this.#hasAllAgents && all.every(isWhole => isWhole);
  }

  async #begin(): Promise<readonly AgentPod[]> {
    const { agents, only } = this.#options;
    const named = only === undefined ? agents.nodes().catch((error: Error) => error) : [only];
    const pods = await listedAgents(agents);
    this.#sayWithout(await named, new Set(pods.map(({ node }) => node)));
    this.#take(pods);
    return this.#ours(pods);
  }

  async #noteVersions(pods: readonly AgentPod[]): Promise<void> {
    const text = await this.#options.agents.versionNote?.(pods);
    if (text !== undefined) this.#options.note(text);
  }

  /** A node without an agent is as much away as one that does not answer. */
  #sayWithout(nodes: readonly string[] | Error, withAgent: ReadonlySet<string>): void {
    const { note, onAway } = this.#options;
    if (nodes instanceof Error) {
      note(nodesUnknownText(nodes));
      return;
    }
    const without = nodes.filter(node => !withAgent.has(node)).sort();
    if (without.length === 0) return;
    this.#hasAllAgents = false;
    this.#away.without(without.length);
    note(`no agent runs on ${firstOf(without, MOST_NAMED)}: what happens there is missing`);
    for (const node of without) onAway?.(node);
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

  #ours(pods: readonly AgentPod[]): readonly AgentPod[] {
    const { only } = this.#options;
    return only === undefined ? pods : pods.filter(({ node }) => node === only);
  }

  #take(pods: readonly AgentPod[]): void {
    this.#pods = podsByNode(this.#ours(pods));
    for (const node of [...this.#pods.keys()].sort())
      if (!this.#asked.has(node)) this.#asked.set(node, this.#ask(node));
  }

  #ask(node: string): Promise<boolean> {
    const { take, onAway, only: _, ...options } = this.#options;
    this.#unheard.add(node);
    this.#access.ask(node);
    const following = followNode({
      ...options,
      node,
      pod: () => this.#pods.get(node),
      take: (line, isRecorded) => take(node, line, isRecorded),
      onFirst: () => this.#onFirst(node),
      onAway: why => {
        this.#away.add(node, why);
        onAway?.(node);
      },
      onBack: () => this.#away.back(node),
      access: this.#access,
      opening: this.#opening,
      end: ownSignal(this.#end),
      ...(options.finish && { finish: ownSignal(options.finish) }),
    });
    following.catch(error => this.#right.reject(error));
    return following;
  }

  #onFirst(node: string): void {
    this.#unheard.delete(node);
    this.#access.over(node);
    if (this.#unheard.size > 0) return;
    this.#away.endStart(this.#asked.size);
    this.#options.onAllFirst?.();
  }
}

// Asks one node's agent, again and again; one note says that it is away, and one that it is back.

interface FollowOptions {
  readonly agents: Pick<Agents, 'run'>;
  readonly node: string;
  /** The pod of its agent, as it was last listed. */
  readonly pod: () => AgentPod | undefined;
  readonly words: readonly string[];
  /** Whether to run until a signal: a command that ends by itself is run again. */
  readonly forever: boolean;
  /** Takes a line that is not empty. Returns what is wrong with it, if no agent would write it. */
  readonly take: (line: string, isRecorded: boolean) => string | undefined;
  readonly note: (text: string) => void;
  /** Called when the node has sent its recorded reports, or is away. */
  readonly onFirst: () => void;
  /** Called when the node is away, for the first time or again. */
  readonly onAway: (why: string) => void;
  readonly onBack: () => void;
  readonly access: AccessCheck;
  /** Limits how many commands are being started at once. */
  readonly opening: Gate;
  /** Asks the commands to write their remaining output, and to end. */
  readonly finish?: AbortSignal;
  readonly end: AbortSignal;
  readonly againMs?: number;
}

const AGAIN = { firstMs: 1_000, mostMs: 5_000 };

/** Whether everything from the node has come. Throws MissingRight if no node accepts the caller. */
async function followNode(options: FollowOptions): Promise<boolean> {
  const { end, finish, onFirst, forever } = options;
  const asking = new Asking(options);
  const isLast = () => !forever || finish?.aborted === true;
  for (let failures = 1; !end.aborted; failures++) {
    const why = await asking.once();
    if (asking.hasAnswered) failures = 1;
    const isWhole = end.aborted || (why === undefined && isLast());
    if (!isWhole) asking.away(why ?? 'its agent has ended');
    onFirst();
    if (isWhole || isLast()) return isWhole;
    const { firstMs, mostMs } = AGAIN;
    const stop = finish === undefined ? end : AbortSignal.any([end, finish]);
    await sleep(options.againMs ?? backoffMs({ firstMs, mostMs }, failures), stop);
    if (finish?.aborted) return false;
  }
  return true;
}

class Asking {
  readonly #options: FollowOptions;
  readonly #notes: NodeNotes;
  /** Whether the node has answered in the latest attempt. */
  hasAnswered = false;
  #isAway = false;
  #isGarbled = false;
  #isRecorded = true;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#notes = new NodeNotes(options.node, options.note);
  }

  /** Why it ended; undefined where it ended well. */
  async once(): Promise<string | undefined> {
    const { node, pod, end, access, opening } = this.#options;
    this.hasAnswered = false;
    this.#isRecorded = true;
    const open = await opening.enter();
    try {
      const asked = pod();
      if (asked === undefined) return 'it has no agent any more';
      if (asked.phase !== 'Running') return `its agent is ${asked.phase}`;
      return end.aborted ? undefined : await this.#run(asked, open);
    } catch (error) {
      // If another node accepts the caller, the caller has the right: an API server or a node that is starting may
      // refuse for a while.
      // The others have to be asked while this one waits for them.
      open();
      if (error instanceof MissingRight) await access.refused(node, error);
      return (error as Error).message || 'it cannot be reached';
    } finally {
      open();
    }
  }

  #run(asked: AgentPod, open: () => void): Promise<string | undefined> {
    const { agents, words, end, finish } = this.#options;
    const sink = {
      open,
      line: (text: string) => this.#line(text),
      note: (text: string) => this.#note(text),
    };
    return agents.run(asked, words, sink, { end, ...(finish && { finish }) });
  }

  away(why: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#options.onAway(why);
  }

  #line(text: string): void {
    const { node, take, note, onFirst } = this.#options;
    this.#answered();
    if (text === '') this.#isRecorded = false;
    if (text === '') onFirst();
    const fault = text === '' ? undefined : take(text, this.#isRecorded);
    if (fault !== undefined && !this.#isGarbled) note(`node ${node}: ${fault}`);
    if (fault !== undefined) this.#isGarbled = true;
  }

  #note(text: string): void {
    if (text !== '') this.#notes.take(text, performance.now());
  }

  #answered(): void {
    const { onBack, access } = this.#options;
    this.hasAnswered = true;
    access.answered();
    if (this.#isAway) onBack();
    this.#isAway = false;
  }
}

// Whether the caller may ask the nodes. One node may refuse alone (a right for some pods only, an admission that fails):
// that node counts as away. Only if every node that has answered refuses does the caller lack the right.

class AccessCheck {
  /** Nodes whose first attempt has not ended yet. */
  readonly #asked = new Set<string>();
  readonly #answer = deferred<void>();
  #refusal: MissingRight | undefined;
  #isIn = false;

  constructor() {
    this.#answer.promise.catch(() => undefined);
  }

  ask(node: string): void {
    this.#asked.add(node);
  }

  /** A node has answered. */
  answered(): void {
    this.#isIn = true;
    this.#answer.resolve();
  }

  /** The first attempt of a node is over. */
  over(node: string): void {
    this.#asked.delete(node);
    if (this.#asked.size === 0 && !this.#isIn && this.#refusal !== undefined)
      this.#answer.reject(this.#refusal);
  }

  /** Waits until another node accepts the caller; throws if none does. */
  async refused(node: string, refusal: MissingRight): Promise<void> {
    this.#refusal ??= refusal;
    this.over(node);
    await this.#answer.promise;
  }
}
