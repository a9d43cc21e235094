/** New connections on the wire, and denied ones among them: from now on, for as long as somebody reads. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { FlowsResponse } from './messages.ts';
import { SlowReader } from './slowreader.ts';
import type { AgentView } from './view.ts';

type Call = ServerWritableStream<object, FlowsResponse>;

/** Connections that wait for a reader who is slower than they come: what is beyond is counted, and said. */
const MOST_WAITING = 8_192;
/** Characters of their JSON: what the API server lets pass has a byte for each. */
const MOST_WAITING_TEXT = 4 << 20;
/**
 * Of one message, unless one connection has more: far from the 4 MB at which gRPC gives up, for a call holds sixteen
 * messages before it says that it is full.
 */
const MOST_MESSAGE_TEXT = 256 << 10;

export function sendFlows(call: Call, { denials, flows }: AgentView): void {
  const reader = new Reader(call);
  const ends = [
    flows.follow(batch => reader.take('flows', batch.flows, batch.lost)),
    denials.follow(denial => reader.take('denials', [denial])),
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

interface Part {
  /** A JSON list. */
  readonly text: string;
  readonly count: number;
}

/** Made as they are taken. */
function* partsOf(all: readonly object[]): Generator<Part> {
  let texts: string[] = [];
  let size = 0;
  const part = () => ({ text: `[${texts.join(',')}]`, count: texts.length });
  for (const each of all) {
    const text = JSON.stringify(each);
    if (texts.length > 0 && size + text.length > MOST_MESSAGE_TEXT) {
      yield part();
      [texts, size] = [[], 0];
    }
    texts.push(text);
    size += text.length + 1;
  }
  if (texts.length > 0) yield part();
}

/** Writes as fast as it is read. */
class Reader {
  readonly #reader: SlowReader<FlowsResponse>;
  #lost = 0;
  #skipped = 0;

  constructor(call: Call) {
    const room = { count: MOST_WAITING, text: MOST_WAITING_TEXT };
    this.#reader = new SlowReader(call, room, () => this.#leftOut());
  }

  take(kind: 'flows' | 'denials', all: readonly object[], lost = 0): void {
    this.#lost += lost;
    let taken = 0;
    for (const { text, count } of partsOf(all)) {
      if (!this.#reader.hasRoom(count, text.length)) break;
      this.#reader.put(this.#counted({ flows: '', denials: '', [kind]: text }), count, text.length);
      taken += count;
    }
    this.#skipped += all.length - taken;
    this.#reader.rest();
  }

  /** With what was left out before it. */
  #counted(message: Pick<FlowsResponse, 'flows' | 'denials'>): FlowsResponse {
    const [lost, skipped] = [this.#lost, this.#skipped];
    [this.#lost, this.#skipped] = [0, 0];
    return { facts: '', ...message, lost, skipped };
  }

  /** Where nothing else comes it is said all the same. */
  #leftOut(): FlowsResponse | undefined {
    return this.#lost + this.#skipped > 0 ? this.#counted({ flows: '', denials: '' }) : undefined;
  }
}
