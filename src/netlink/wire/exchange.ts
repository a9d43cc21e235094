/** Requests to the kernel and their answers, over one socket: one at a time. */

import type { Batch } from '../nftables/batch.ts';
import { GEN_ID, MSG, NLM_F, NLMSG } from '../nftables/constants.ts';
import { AttributeWriter, readAttributes, readU32 } from './attributes.ts';
import { errnoName } from './errno.ts';
import type { EventLoopYield } from './eventloopyield.ts';
import { beginMessage, endMessage, type Message, readMessages } from './messages.ts';
import { isAcknowledgement, type Reply, readReply } from './replies.ts';
import { type NetlinkSocket, NOTHING, OVERRUN, SocketError } from './socket.ts';

export interface Request {
  readonly type: number;
  readonly nfproto: number;
  readonly attributes?: (to: AttributeWriter) => void;
}

/** What came back to a batch. */
export interface Answers {
  readonly acknowledged: boolean;
  readonly errors: Reply[];
  /** The generation of a batch that asked for an echo, if it made one. */
  generation: number | undefined;
  /** Answers were lost: there were more than the receive buffer holds. */
  overrun: boolean;
}

/** A dump that somebody changed while it was read. */
export class Interrupted extends Error {}

export class Exchange {
  readonly #socket: NetlinkSocket;
  readonly #writer = new AttributeWriter();
  #sequence = 0;

  constructor(socket: NetlinkSocket) {
    this.#socket = socket;
  }

  /** The number of the next message. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Sends a batch whose first message has `nextSequence`, without holding the event loop. */
  async commit(batch: Batch): Promise<Answers> {
    this.#take(batch.messages);
    await this.#socket.sendAsync(batch.buffer, batch.length);
    return this.#answers(batch);
  }

  /** The same, on the event loop. */
  commitSync(batch: Batch): Answers {
    this.#take(batch.messages);
    this.#socket.send(batch.memory, batch.length);
    return this.#answers(batch);
  }

  generation(): number {
    const message = this.get({ type: MSG.GETGEN, nfproto: 0 });
    return readU32(readAttributes(message!.attributes).get(GEN_ID)!);
  }

  /** One object; undefined where there is none. Takes microseconds, and waits for nobody. */
  get(request: Request): Message | undefined {
    const sequence = this.#send(request, 0);
    for (let length = this.#socket.receive(); length > 0; length = this.#socket.receive()) {
      for (const message of readMessages(this.#socket.received, length)) {
        if (message.sequence !== sequence) continue; // left over from before
        const reply = readReply(message);
        if (reply === undefined) return message;
        if (errnoName(reply.errno) === 'ENOENT') return undefined;
        throw new SocketError('request', reply.errno);
      }
    }
    throw new Error('nf_tables did not answer a request');
  }

  /**
   * All objects of a kind, by and by, so that the event loop never waits for more than a datagram of them. One that
   * somebody changed is read to its end all the same: the kernel refuses the next dump of a socket until then.
   */
  async dump(request: Request, slices: EventLoopYield, visit: (message: Message) => void): Promise<void> {
    const sequence = this.#send(request, NLM_F.DUMP);
    let changed = false;
    for (let done = false; !done; ) {
      const length = this.#socket.receive();
      if (length <= 0) throw new Interrupted('a dump ended early');
      for (const message of readMessages(this.#socket.received, length)) {
        if (message.sequence !== sequence) continue; // left over from before
        const reply = readReply(message);
        // What was to be dumped is gone by now.
        if (reply !== undefined) throw new Interrupted(errnoName(reply.errno));
        changed ||= (message.flags & NLM_F.DUMP_INTR) !== 0;
        done = message.type === NLMSG.DONE;
        if (!changed && !done) visit(message);
      }
      if (!done && slices.over) await slices.rest();
    }
    if (changed) throw new Interrupted('changed while it was read');
  }

  /** What was answered is all there when the send is done, and an acknowledgement is the last of it. */
  #answers(batch: Batch): Answers {
    let length = this.#socket.receive();
    if (length > 0 && isAcknowledgement(this.#socket.words, batch.acknowledged)) return ACCEPTED;
    const answers: Answers = { acknowledged: false, errors: [], generation: undefined, overrun: false };
    for (; length !== NOTHING; length = this.#socket.receive()) {
      if (length === OVERRUN) answers.overrun = true;
      else if (isAcknowledgement(this.#socket.words, batch.acknowledged))
        return { ...answers, acknowledged: true };
      else this.#note(answers, batch, length);
    }
    return answers;
  }

  #note(answers: Answers, batch: Batch, length: number): void {
    for (const message of readMessages(this.#socket.received, length))
      if (batch.holds(message.sequence)) note(answers, message); // else left over from before
  }

  #take(count: number): number {
    const first = this.#sequence;
    this.#sequence = (first + count) >>> 0;
    return first;
  }

  #send({ type, nfproto, attributes }: Request, flags: number): number {
    const sequence = this.#take(1);
    this.#writer.clear();
    const start = beginMessage(this.#writer, type, NLM_F.REQUEST | flags, sequence, nfproto);
    attributes?.(this.#writer);
    endMessage(this.#writer, start);
    this.#socket.send(this.#writer.memory, this.#writer.length);
    return sequence;
  }
}

const ACCEPTED: Answers = { acknowledged: true, errors: [], generation: undefined, overrun: false };

function note(answers: Answers, message: Message): void {
  const reply = readReply(message);
  if (reply !== undefined && reply.errno !== 0) answers.errors.push(reply);
  if (message.type === MSG.NEWGEN)
    answers.generation = readU32(readAttributes(message.attributes).get(GEN_ID)!);
}
