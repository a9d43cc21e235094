/** The requests to nf_tables over a netlink conversation: batches, single objects, dumps, and the generation. */

import type { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { type AttributeWriter, readAttributes, readU32 } from '../wire/attributes.ts';
import { errnoName, NLM_F } from '../wire/constants.ts';
import {
  type Conversation,
  type ConversationSocket,
  restBetweenSlices,
  type Write,
} from '../wire/conversation.ts';
import { Interrupted } from '../wire/dumpreader.ts';
import {
  beginMessage,
  endMessage,
  isAcknowledgement,
  type Message,
  type Reply,
  readMessages,
  readReply,
} from '../wire/messages.ts';
import { NOTHING, OVERRUN, SocketError } from '../wire/socket.ts';
import type { Batch } from './batch.ts';
import { GEN_ID, MSG } from './constants.ts';

export interface Request {
  readonly type: number;
  readonly nfproto: number;
  readonly attributes?: (to: AttributeWriter) => void;
}

/** The answers to a batch. */
export interface BatchAnswers {
  readonly acknowledged: boolean;
  readonly errors: Reply[];
  /** The generation of a batch that asked for an echo, if it made one. */
  generation: number | undefined;
  /** Answers were lost: there were more than the receive buffer holds. */
  overrun: boolean;
}

/** The table or chain that has the objects does not exist: it may have been deleted since it was found. */
export class NotFound extends Interrupted {}

export class Exchange {
  readonly #conversation: Conversation;
  readonly #line: ConversationSocket;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.#line = conversation.line;
  }

  /** The number of the next message. */
  get nextSequence(): number {
    return this.#conversation.nextSequence;
  }

  /** Sends a batch whose first message has `nextSequence`, without holding the event loop. */
  async commit(batch: Batch): Promise<BatchAnswers> {
    await this.#conversation.send(batch.written, batch.messages);
    return this.#answers(batch);
  }

  /** Commits on the event loop. */
  commitSync(batch: Batch): BatchAnswers {
    this.#conversation.sendSync(batch.written, batch.messages);
    return this.#answers(batch);
  }

  generation(): number {
    const message = this.get({ type: MSG.GETGEN, nfproto: 0 });
    return readU32(readAttributes(message!.attributes).get(GEN_ID)!);
  }

  /**
   * Gets one object, valid until the next request; undefined if it does not exist. Does not wait for other processes.
   */
  get(request: Request): Message | undefined {
    let answer: Message | undefined;
    this.#conversation.askSync([writeOf(request, 0)], message => {
      answer ??= message;
    });
    if (answer === undefined) throw new Error('nf_tables did not answer a request');
    const refused = readReply(answer);
    if (refused === undefined) return answer;
    if (errnoName(refused.errno) === 'ENOENT') return undefined;
    throw new SocketError('request', refused.errno);
  }

  /** All objects of a kind. Throws Interrupted where they changed meanwhile, and Gone where there is nothing to dump. */
  async dump(request: Request, slices: EventLoopYield, visit: (message: Message) => void): Promise<void> {
    try {
      await this.#conversation.dump(
        writeOf(request, NLM_F.DUMP),
        visit,
        'event loop',
        restBetweenSlices(slices),
      );
    } catch (error) {
      throw error instanceof SocketError && error.code === 'ENOENT' ? new NotFound(error.code) : error;
    }
  }

  /** All answers are there when the send returns; an acknowledgement is the last one. */
  #answers(batch: Batch): BatchAnswers {
    const line = this.#line;
    let length = line.receive();
    if (length > 0 && isAcknowledgement(line.words, batch.acknowledged)) return ACCEPTED;
    const answers: BatchAnswers = { acknowledged: false, errors: [], generation: undefined, overrun: false };
    for (; length !== NOTHING; length = line.receive()) {
      if (length === OVERRUN) answers.overrun = true;
      else if (isAcknowledgement(line.words, batch.acknowledged)) return { ...answers, acknowledged: true };
      else this.#addAnswers(answers, batch, length);
    }
    return answers;
  }

  #addAnswers(answers: BatchAnswers, batch: Batch, length: number): void {
    for (const message of readMessages(this.#line.received, length))
      if (batch.holds(message.sequence)) addAnswer(answers, message); // else left over from before
  }
}

const ACCEPTED: BatchAnswers = { acknowledged: true, errors: [], generation: undefined, overrun: false };

function addAnswer(answers: BatchAnswers, message: Message): void {
  const reply = readReply(message);
  if (reply !== undefined && reply.errno !== 0) answers.errors.push(reply);
  if (message.type === MSG.NEWGEN)
    answers.generation = readU32(readAttributes(message.attributes).get(GEN_ID)!);
}

function writeOf({ type, nfproto, attributes }: Request, flags: number): Write {
  return (to, sequence) => {
    const start = beginMessage(to, type, NLM_F.REQUEST | flags, sequence, nfproto);
    attributes?.(to);
    endMessage(to, start);
  };
}
