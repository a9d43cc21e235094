/** What is said of nodes on standard error, beside what they report. */
import { type Rate, TokenBucket } from '../../lib/fairness/rates.ts';
import { plural } from '../../lib/text/plural.ts';

/** Names of nodes in one note, or in notes of one kind. */
export const MOST_NAMED = 5;

/** Says which nodes are away. Of many at the start it names the first ones, and then says how many nodes report. */
export class AwayNodes {
  readonly #note: (text: string) => void;
  readonly #away = new Set<string>();
  /** Nodes that were not named, by the reason. */
  readonly #unnamed = new Map<string, number>();
  #without = 0;
  #isStart = true;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** So many nodes have no agent. */
  without(count: number): void {
    this.#without = count;
  }

  add(node: string, why: string): void {
    this.#away.add(node);
    if (!this.#isStart || this.#away.size <= MOST_NAMED) this.#note(`node ${node} is away: ${why}`);
    else this.#unnamed.set(why, (this.#unnamed.get(why) ?? 0) + 1);
  }

  back(node: string): void {
    this.#away.delete(node);
    this.#note(`node ${node} is back`);
  }

  /** All of these nodes have reported, or are away. */
  endStart(asked: number): void {
    if (!this.#isStart) return;
    this.#isStart = false;
    for (const [why, count] of this.#unnamed)
      this.#note(`${plural(count, 'more node')} ${count === 1 ? 'is' : 'are'} away: ${why}`);
    const [all, reporting] = [asked + this.#without, asked - this.#away.size];
    if (all > MOST_NAMED && reporting < all) this.#note(`${reporting} of ${all} nodes report`);
  }
}

// The agent's standard error, within limits, so that one node cannot fill the terminal on which others are read.

/** More than an agent writes: at most two lines a second about losses, and everything else once. */
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
