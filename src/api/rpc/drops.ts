/** Denied connections on the wire: those that are recorded, then what comes, and last how much was left out. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { Denial } from '../../observe/denials/denial.ts';
import type { DropsRequest, DropsResponse } from './messages.ts';
import type { AgentView } from './view.ts';

type Call = ServerWritableStream<DropsRequest, DropsResponse>;

/** What waits for a reader that is slower than the denials: what is beyond is counted, and said. */
const MOST_WAITING = 1_024;

export async function sendDrops(call: Call, { denials }: AgentView): Promise<void> {
  const facts = JSON.stringify(await denials.facts());
  if (call.cancelled) return;
  const reader = new Reader(call);
  call.write({ ...NOTHING, facts });
  // From here on without a pause: what comes later is behind what is recorded, and none of it is missing.
  for (const denial of denials.denials()) reader.take(denial);
  reader.endRecorded();
  if (!call.request.follow) return reader.end();
  const end = denials.follow(denial => reader.take(denial));
  call.once('cancelled', end);
  call.once('close', end);
}

const NOTHING: DropsResponse = { facts: '', denial: '', skipped: 0, ends_recorded: false };
/** Stands between what was recorded and what comes. */
const MARK = Symbol('all that was recorded is told');

/** Writes as fast as it is read. */
class Reader {
  readonly #call: Call;
  readonly #waiting: (Denial | typeof MARK)[] = [];
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
  endRecorded(): void {
    if (this.#isFull) this.#waiting.push(MARK);
    else this.#write(MARK);
  }

  /** Behind all that waits. */
  end(): void {
    this.#isLast = true;
    if (this.#waiting.length === 0) this.#call.end();
  }

  #write(next: Denial | typeof MARK): void {
    const skipped = this.#skipped;
    this.#skipped = 0;
    const told = next === MARK ? { ends_recorded: true } : { denial: JSON.stringify(next) };
    this.#isFull = !this.#call.write({ ...NOTHING, ...told, skipped });
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
