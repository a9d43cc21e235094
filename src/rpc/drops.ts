/** Denied connections on the wire: those that are recorded, then what comes, and last how much was left out. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { Denial } from '../denials/denial.ts';
import type { DropsRequest, DropsResponse } from './messages.ts';
import type { AgentView } from './view.ts';

type Call = ServerWritableStream<DropsRequest, DropsResponse>;

/** What waits for a reader that is slower than the denials: what is beyond is counted, and said. */
const MOST_WAITING = 1_024;

export async function sendDrops(call: Call, { denials }: AgentView): Promise<void> {
  const facts = JSON.stringify(await denials.facts());
  if (call.cancelled) return;
  const reader = new Reader(call);
  call.write({ facts, denial: '', skipped: 0 });
  // From here on without a pause: what comes later is behind what is recorded, and none of it is missing.
  for (const denial of denials.denials()) reader.take(denial);
  if (!call.request.follow) return reader.end();
  const end = denials.follow(denial => reader.take(denial));
  call.once('cancelled', end);
  call.once('close', end);
}

/** Writes as fast as it is read. */
class Reader {
  readonly #call: Call;
  readonly #waiting: Denial[] = [];
  #isFull = false;
  #isLast = false;
  #skipped = 0;
  #last = 0;

  constructor(call: Call) {
    this.#call = call;
    call.on('drain', () => this.#resume());
  }

  /** Each denial once, in the order of their numbers. */
  take(denial: Denial): void {
    if (denial.number <= this.#last) return;
    this.#last = denial.number;
    if (!this.#isFull) this.#write(denial);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(denial);
    else this.#skipped++;
  }

  /** Behind all that waits. */
  end(): void {
    this.#isLast = true;
    if (this.#waiting.length === 0) this.#call.end();
  }

  #write(denial: Denial): void {
    const skipped = this.#skipped;
    this.#skipped = 0;
    this.#isFull = !this.#call.write({ facts: '', denial: JSON.stringify(denial), skipped });
  }

  #resume(): void {
    this.#isFull = false;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#write(next);
      if (this.#isFull && this.#waiting.length > 0) return;
    }
    if (this.#isLast) this.#call.end();
  }
}
