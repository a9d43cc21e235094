/** New connections on the wire, and denied ones among them: from now on, for as long as somebody reads. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { Denial } from '../denials/denial.ts';
import type { FlowBatch } from '../flows/source.ts';
import type { FlowsResponse } from './messages.ts';
import type { AgentView } from './view.ts';

type Call = ServerWritableStream<object, FlowsResponse>;

/** Connections that wait for a reader who is slower than they come: what is beyond is counted, and said. */
const MOST_WAITING = 8_192;

export function sendFlows(call: Call, { denials, flows }: AgentView): void {
  const reader = new Reader(call);
  const ends = [
    flows.follow(batch => reader.take(batch)),
    denials.follow(denial => reader.take({ flows: [], lost: 0 }, [denial])),
  ];
  const end = () => {
    for (const each of ends) each();
  };
  call.once('cancelled', end);
  call.once('close', end);
  // Behind the first who asks: the facts say whether the kernel tells.
  call.write({ ...NOTHING, facts: JSON.stringify(flows.facts()) });
}

const NOTHING: FlowsResponse = { facts: '', flows: '', denials: '', lost: 0, skipped: 0 };

interface Waiting {
  readonly message: FlowsResponse;
  readonly count: number;
}

/** Writes as fast as it is read. */
class Reader {
  readonly #call: Call;
  #waiting: Waiting[] = [];
  #count = 0;
  #isFull = false;
  #lost = 0;
  #skipped = 0;

  constructor(call: Call) {
    this.#call = call;
    call.on('drain', () => this.#resume());
  }

  take({ flows, lost }: FlowBatch, denials: readonly Denial[] = []): void {
    const count = flows.length + denials.length;
    this.#lost += lost;
    if (this.#count + count > MOST_WAITING) {
      this.#skipped += count;
      return;
    }
    const [flowsJson, denialsJson] = [flows, denials].map(all =>
      all.length === 0 ? '' : JSON.stringify(all),
    );
    this.#waiting.push({ message: this.#counted({ flows: flowsJson!, denials: denialsJson! }), count });
    this.#count += count;
    if (!this.#isFull) this.#resume();
  }

  /** With what was left out before it. */
  #counted(message: Pick<FlowsResponse, 'flows' | 'denials'>): FlowsResponse {
    const [lost, skipped] = [this.#lost, this.#skipped];
    [this.#lost, this.#skipped] = [0, 0];
    return { facts: '', ...message, lost, skipped };
  }

  #resume(): void {
    this.#isFull = false;
    while (!this.#isFull && this.#waiting.length > 0) {
      const { message, count } = this.#waiting.shift()!;
      this.#count -= count;
      this.#isFull = !this.#call.write(message);
    }
    // Where nothing else comes it is said all the same.
    if (!this.#isFull && this.#lost + this.#skipped > 0)
      this.#isFull = !this.#call.write(this.#counted({ flows: '', denials: '' }));
  }
}
