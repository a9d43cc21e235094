/** Streams of denied and of new connections to clients that may read more slowly than connections come. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { Denial } from '../../observe/denials/denial.ts';
import type { DropsRequest, DropsResponse, FlowsResponse } from './messages.ts';
import type { AgentView } from './view.ts';

/** How much may wait: the number of connections, and the characters of their text. */
interface WaitingRoom {
  readonly count: number;
  readonly text: number;
}

/** The part of a gRPC call that is used. */
interface Call<Message> {
  on(event: 'drain', resume: () => void): unknown;
  /** Whether the call takes more now. */
  write(message: Message): boolean;
  end(): void;
}

interface Waiting<Message> {
  readonly message: Message;
  readonly count: number;
  readonly text: number;
}

class SlowReader<Message extends object> {
  readonly #call: Call<Message>;
  readonly #room: WaitingRoom;
  readonly #atRest: () => Message | undefined;
  readonly #waiting: Waiting<Message>[] = [];
  #count = 0;
  #text = 0;
  #isFull = false;
  #isLast = false;

  /** `atRest` may give one more message when nothing waits to be sent. */
  constructor(call: Call<Message>, room: WaitingRoom, atRest: () => Message | undefined = () => undefined) {
    this.#call = call;
    this.#room = room;
    this.#atRest = atRest;
    call.on('drain', () => this.#resume());
  }

  hasRoom(count: number, text: number): boolean {
    return this.#count + count <= this.#room.count && this.#text + text <= this.#room.text;
  }

  /** Sends the message after all that waits. */
  put(message: Message, count = 0, text = 0): void {
    this.#waiting.push({ message, count, text });
    this.#count += count;
    this.#text += text;
    this.rest();
  }

  /** Ends the call after all that waits. */
  end(): void {
    this.#isLast = true;
    if (this.#waiting.length === 0) this.#call.end();
  }

  /** Asks `atRest` again. */
  rest(): void {
    if (!this.#isFull) this.#resume();
  }

  #resume(): void {
    this.#isFull = false;
    while (!this.#isFull && this.#waiting.length > 0) {
      const { message, count, text } = this.#waiting.shift()!;
      this.#count -= count;
      this.#text -= text;
      this.#isFull = !this.#call.write(message);
    }
    if (this.#waiting.length > 0) return;
    const last = this.#isFull ? undefined : this.#atRest();
    if (last !== undefined) this.#isFull = !this.#call.write(last);
    if (this.#isLast) this.#call.end();
  }
}

// The stream of denied connections: first the recorded ones, then new ones.

type DropsCall = ServerWritableStream<DropsRequest, DropsResponse>;

/** Denials beyond this are left out, and the number of them is sent. */
const MOST_DENIALS_WAITING = 1_024;

export async function sendDrops(call: DropsCall, { denials }: AgentView): Promise<void> {
  const facts = JSON.stringify(await denials.facts());
  if (call.cancelled) return;
  const reader = new DropsReader(call);
  call.write({ ...NO_DENIALS, facts });
  // No await from here on, so that no denial is missed between the recorded and the new ones.
  for (const denial of denials.denials()) reader.take(denial);
  reader.endRecorded();
  if (!call.request.follow) return reader.end();
  const end = denials.follow(denial => reader.take(denial));
  call.once('cancelled', end);
  call.once('close', end);
}

const NO_DENIALS: DropsResponse = { facts: '', denial: '', skipped: 0, ends_recorded: false };

class DropsReader {
  readonly #reader: SlowReader<DropsResponse>;
  #skipped = 0;
  #last = 0;

  constructor(call: DropsCall) {
    this.#reader = new SlowReader(call, { count: MOST_DENIALS_WAITING, text: Number.POSITIVE_INFINITY });
  }

  /** Sends each denial once, in the order of their numbers. */
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

  /** Sends with the message how many were left out before it. */
  #put(message: Partial<DropsResponse>, count: number): void {
    const skipped = this.#skipped;
    this.#skipped = 0;
    this.#reader.put({ ...NO_DENIALS, ...message, skipped }, count);
  }
}

// The stream of new connections, with denied ones among them, from the call on.

type FlowsCall = ServerWritableStream<object, FlowsResponse>;

/** Connections beyond this are left out, and the number of them is sent. */
const MOST_FLOWS_WAITING = 8_192;
/** Characters of waiting JSON; text that the API server accepts has one byte for each. */
const MOST_WAITING_TEXT = 4 << 20;
/**
 * Characters in one message, unless a single connection has more. This is far below the 4 MB that gRPC allows, because
 * a call buffers sixteen messages before it reports that it is full.
 */
const MOST_MESSAGE_TEXT = 256 << 10;

export function sendFlows(call: FlowsCall, { denials, flows }: AgentView): void {
  const reader = new FlowsReader(call);
  const ends = [
    flows.follow(batch => reader.take('flows', batch.flows, batch.lost)),
    denials.follow(denial => reader.take('denials', [denial])),
  ];
  const end = () => {
    for (const each of ends) each();
  };
  call.once('cancelled', end);
  call.once('close', end);
  // The facts say whether the kernel reports connections, which is known after the first follower has opened the
  // source.
  call.write({ ...NO_FLOWS, facts: JSON.stringify(flows.facts()) });
}

const NO_FLOWS: FlowsResponse = { facts: '', flows: '', denials: '', lost: 0, skipped: 0 };

interface Part {
  /** A JSON list. */
  readonly text: string;
  readonly count: number;
}

/** JSON lists of limited size, made one by one as they are taken. */
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

class FlowsReader {
  readonly #reader: SlowReader<FlowsResponse>;
  #lost = 0;
  #skipped = 0;

  constructor(call: FlowsCall) {
    const room = { count: MOST_FLOWS_WAITING, text: MOST_WAITING_TEXT };
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

  /** Adds how many were left out before it. */
  #counted(message: Pick<FlowsResponse, 'flows' | 'denials'>): FlowsResponse {
    const [lost, skipped] = [this.#lost, this.#skipped];
    [this.#lost, this.#skipped] = [0, 0];
    return { facts: '', ...message, lost, skipped };
  }

  /** The counts of what was left out, which are also sent when no further connection comes. */
  #leftOut(): FlowsResponse | undefined {
    return this.#lost + this.#skipped > 0 ? this.#counted({ flows: '', denials: '' }) : undefined;
  }
}
