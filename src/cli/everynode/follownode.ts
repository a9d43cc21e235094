/** One node's agent, asked again and again: a node that is away is said once, and so is that it is back. */
import { backoffMs } from '../../async/backoff.ts';
import { sleep } from '../../async/sleep.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';
import { type NodeReport, reportOf } from './report.ts';

export interface FollowOptions {
  readonly agents: Pick<Agents, 'run'>;
  readonly node: string;
  /** The pod of its agent, as it was last listed. */
  readonly pod: () => AgentPod | undefined;
  readonly words: readonly string[];
  /** Until the signal: where the command ends by itself, it is run again. */
  readonly forever: boolean;
  readonly take: (report: NodeReport) => void;
  readonly note: (text: string) => void;
  /** It has answered, or is away. */
  readonly onFirst: () => void;
  readonly end: AbortSignal;
  readonly againMs?: number;
}

const AGAIN = { firstMs: 1_000, mostMs: 5_000 };
/** Things that an agent would tell again when it is asked again. */
const MOST_KNOWN = 4_096;
const OLD = /unknown (option|command) '(--remote|flows)'/;

/** Whether all that the node had to tell has come. Throws MissingRight, unless the node was heard before. */
export async function followNode(options: FollowOptions): Promise<boolean> {
  const { end, note, node, onFirst, forever } = options;
  const asking = new Asking(options);
  for (let failures = 1; !end.aborted; failures++) {
    const why = await asking.once();
    if (asking.wasHeard) failures = 1;
    onFirst();
    if (end.aborted || (why === undefined && !forever)) return true;
    if (!asking.isAway) note(`node ${node} is away: ${why ?? 'its agent has ended'}`);
    asking.isAway = true;
    if (!forever) return false;
    const { firstMs, mostMs } = AGAIN;
    await sleep(options.againMs ?? backoffMs({ firstMs, mostMs }, failures), end);
  }
  return true;
}

class Asking {
  readonly #options: FollowOptions;
  readonly #known = new Set<string>();
  isAway = false;
  /** In the latest try. */
  wasHeard = false;
  #wasEverHeard = false;
  #isTooOld = false;
  #isGarbled = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Why it ended; undefined where it ended well. */
  async once(): Promise<string | undefined> {
    const { agents, pod, words, end } = this.#options;
    this.wasHeard = false;
    const asked = pod();
    if (asked === undefined) return 'it has no agent any more';
    if (asked.phase !== 'Running') return `its agent is ${asked.phase}`;
    const heard = { line: (text: string) => this.#line(text), note: (text: string) => this.#note(text) };
    try {
      const why = await agents.run(asked, words, heard, end);
      return this.#isTooOld ? 'its agent is of a version that cannot be asked from elsewhere' : why;
    } catch (error) {
      // Who was let in before has the right: an API server that starts again may say so for a while.
      if (error instanceof MissingRight && !this.#wasEverHeard) throw error;
      return (error as Error).message || 'it cannot be reached';
    }
  }

  #line(text: string): void {
    this.#heard();
    if (text === '') return;
    const { node, take } = this.#options;
    const report = reportOf(node, text);
    if (report === undefined) this.#garbled();
    else if (report.key === undefined || !this.#isRepeated(report.key)) take(report);
  }

  /** Once, however much of it comes. */
  #garbled(): void {
    const { node, note } = this.#options;
    if (!this.#isGarbled) note(`node ${node}: said what is no denial and no new connection`);
    this.#isGarbled = true;
  }

  #note(text: string): void {
    if (OLD.test(text)) this.#isTooOld = true;
    else if (text !== '') this.#options.note(`node ${this.#options.node}: ${text}`);
  }

  #heard(): void {
    this.wasHeard = true;
    this.#wasEverHeard = true;
    if (this.isAway) this.#options.note(`node ${this.#options.node} is back`);
    this.isAway = false;
    this.#options.onFirst();
  }

  #isRepeated(key: string): boolean {
    if (this.#known.has(key)) return true;
    this.#known.add(key);
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.values().next().value!);
    return false;
  }
}
