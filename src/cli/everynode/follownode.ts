/** One node's agent, asked again and again: a node that is away is said once, and so is that it is back. */
import { backoffMs } from '../../lib/async/backoff.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { type Rate, TokenBucket } from '../../lib/fairness/rates.ts';
import { plural } from '../../terminal/plural.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';
import type { LetIn } from './letin.ts';

export interface FollowOptions {
  readonly agents: Pick<Agents, 'run'>;
  readonly node: string;
  /** The pod of its agent, as it was last listed. */
  readonly pod: () => AgentPod | undefined;
  readonly words: readonly string[];
  /** Until a signal: where the command ends by itself, it is run again. */
  readonly forever: boolean;
  /** A line with something in it. Answers what is wrong with it, where it is nothing that such an agent says. */
  readonly take: (line: string) => string | undefined;
  readonly note: (text: string) => void;
  /** It has told all that it knew before, or is away. */
  readonly onFirst: () => void;
  /** It is away, for the first time or again. */
  readonly onAway?: () => void;
  readonly letIn: LetIn;
  /** The commands are asked to end, and to tell what they have left. */
  readonly finish?: AbortSignal;
  readonly end: AbortSignal;
  readonly againMs?: number;
}

const AGAIN = { firstMs: 1_000, mostMs: 5_000 };

/** Whether all that the node had to tell has come. Throws MissingRight where no node lets the caller in. */
export async function followNode(options: FollowOptions): Promise<boolean> {
  const { end, finish, onFirst, forever } = options;
  const asking = new Asking(options);
  const isLast = () => !forever || finish?.aborted === true;
  for (let failures = 1; !end.aborted; failures++) {
    const why = await asking.once();
    if (asking.wasHeard) failures = 1;
    onFirst();
    if (end.aborted || (why === undefined && isLast())) return true;
    asking.away(why ?? 'its agent has ended');
    if (isLast()) return false;
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
  /** In the latest try. */
  wasHeard = false;
  #isAway = false;
  #isGarbled = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#notes = new NodeNotes(options.node, options.note);
  }

  /** Why it ended; undefined where it ended well. */
  async once(): Promise<string | undefined> {
    const { agents, node, pod, words, end, finish, letIn } = this.#options;
    this.wasHeard = false;
    const asked = pod();
    if (asked === undefined) return 'it has no agent any more';
    if (asked.phase !== 'Running') return `its agent is ${asked.phase}`;
    const heard = { line: (text: string) => this.#line(text), note: (text: string) => this.#note(text) };
    try {
      return await agents.run(asked, words, heard, { end, ...(finish && { finish }) });
    } catch (error) {
      // Who is let in elsewhere has the right: an API server or a node that starts may say otherwise for a while.
      if (error instanceof MissingRight) await letIn.refused(node, error);
      return (error as Error).message || 'it cannot be reached';
    }
  }

  away(why: string): void {
    const { node, note, onAway } = this.#options;
    if (this.#isAway) return;
    this.#isAway = true;
    note(`node ${node} is away: ${why}`);
    onAway?.();
  }

  #line(text: string): void {
    const { node, take, note, onFirst } = this.#options;
    this.#heard();
    if (text === '') onFirst();
    const fault = text === '' ? undefined : take(text);
    if (fault !== undefined && !this.#isGarbled) note(`node ${node}: ${fault}`);
    if (fault !== undefined) this.#isGarbled = true;
  }

  #note(text: string): void {
    if (text !== '') this.#notes.take(text, performance.now());
  }

  #heard(): void {
    const { node, note, letIn } = this.#options;
    this.wasHeard = true;
    letIn.heard();
    if (this.#isAway) note(`node ${node} is back`);
    this.#isAway = false;
  }
}

// What an agent writes to its standard error, within limits: no node fills the terminal that others are read on.

/** Of what is lost an agent has two lines a second at most, and all else it says once. */
const RATE: Rate = { burst: 20, perSecond: 4 };
const LONGEST = 500;

export class NodeNotes {
  readonly #node: string;
  readonly #write: (text: string) => void;
  readonly #rate = new TokenBucket(RATE);
  #leftOut = 0;

  constructor(node: string, write: (text: string) => void) {
    this.#node = node;
    this.#write = write;
  }

  take(text: string, nowMs: number): void {
    if (this.#rate.level(nowMs) < 1) {
      this.#leftOut++;
      return;
    }
    this.#rate.take(nowMs);
    const more = this.#leftOut === 0 ? '' : ` (and ${plural(this.#leftOut, 'note')} before it)`;
    this.#leftOut = 0;
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    this.#write(`node ${this.#node}: ${short}${more}`);
  }
}
