/** What an agent writes to its standard error, within limits: no node fills the terminal that others are read on. */
import { type Rate, TokenBucket } from '../../lib/fairness/tokenbucket.ts';
import { plural } from '../../terminal/plural.ts';

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
