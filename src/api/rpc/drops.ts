/** Denied connections on the wire: those that are recorded, then what comes, and last how much was left out. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { Denial } from '../../observe/denials/denial.ts';
import type { DropsRequest, DropsResponse } from './messages.ts';
import { SlowReader } from './slowreader.ts';
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

/** Writes as fast as it is read. */
class Reader {
  readonly #reader: SlowReader<DropsResponse>;
  #skipped = 0;
  #last = 0;

  constructor(call: Call) {
    this.#reader = new SlowReader(call, { count: MOST_WAITING, text: Number.POSITIVE_INFINITY });
  }

  /** Each denial once, in the order of their numbers. */
  take(denial: Denial): void {
    if (denial.number <= this.#last) return;
    this.#last = denial.number;
    if (!this.#reader.hasRoom(1, 0)) this.#skipped++;
    else this.#put({ denial: JSON.stringify(denial) }, 1);
  }

  endRecorded(): void {
    this.#put({ ends_recorded: true }, 0);
  }

  end(): void {
    this.#reader.end();
  }

  /** With how many were left out before it. */
  #put(told: Partial<DropsResponse>, count: number): void {
    const skipped = this.#skipped;
    this.#skipped = 0;
    this.#reader.put({ ...NOTHING, ...told, skipped }, count);
  }
}
