/**
 * Requests to the kernel over one netlink socket, and their answers, for every netlink protocol: every message has a
 * number, answers are matched with the message of their number, and one request is under way at a time.
 *
 *     ask    messages in one send; each is answered when the send is done
 *     dump   one message, answered by datagrams up to NLMSG_DONE
 *
 * Each protocol (nf_tables, conntrack, rtnetlink) encodes its own messages and interprets the answers.
 */

import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { AttributeWriter } from './attributes.ts';
import { DumpReader, Interrupted } from './dumpreader.ts';
import { type Message, readMessages } from './messages.ts';
import { type NetlinkSocket, NOTHING, OVERRUN, SocketError } from './socket.ts';

/** The socket functions that a conversation needs. */
export type ConversationSocket = Pick<
  NetlinkSocket,
  'received' | 'words' | 'send' | 'sendAsync' | 'receive' | 'receiveAsync' | 'close'
>;

/** Writes one message under a number. */
export type Write = (to: AttributeWriter, sequence: number) => void;

/** `index` is that of the message that is answered. Must keep nothing of `message`. */
export type VisitAnswer = (message: Message, index: number) => void;

/**
 * Who waits for the kernel while it makes a dump: the event loop, which rests between two parts, or another thread, if
 * a part may take long or waits for a lock.
 */
export type Waits = 'event loop' | 'thread';

/** Something to wait for; undefined if there is nothing. */
export type Pause = () => Promise<void> | undefined;

const MOST_ATTEMPTS = 10;
const ENOBUFS = 105;

export class Conversation {
  /** The socket itself, for callers that send messages and read answers on their own. */
  readonly line: ConversationSocket;
  readonly #writer = new AttributeWriter();
  #next = 0;
  /** Ends with what was last asked for. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(line: ConversationSocket) {
    this.line = line;
  }

  /** The number of the next message. */
  get nextSequence(): number {
    return this.#next;
  }

  /** No request is under way, so one may be made. */
  get isIdle(): boolean {
    return this.#waiting === 0 && !this.#closed;
  }

  /** Does `work` when all is done that was asked for before. Throws SocketError (EBADF) once it is closed. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new SocketError('closed socket', EBADF));
    this.#waiting++;
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined).finally(() => this.#waiting--);
    return result;
  }

  /** Requests that were made before still complete. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#turn.then(() => this.line.close());
  }

  /** Sends all of them at once. Throws SocketError (ENOBUFS) where answers were lost; those that came were visited. */
  async ask(writes: readonly Write[], visit: VisitAnswer): Promise<void> {
    const first = this.#write(writes);
    await this.line.sendAsync(this.#writer.buffer, this.#writer.length);
    this.#answers(first, writes.length, visit);
  }

  /** The same on the event loop: for requests that take microseconds and do not wait for other processes. */
  askSync(writes: readonly Write[], visit: VisitAnswer): void {
    const first = this.#write(writes);
    this.line.send(this.#writer.memory, this.#writer.length);
    this.#answers(first, writes.length, visit);
  }

  /** Sends `count` messages that were written before, from `nextSequence` on; the answers are then on `line`. */
  async send({ buffer, length }: AttributeWriter, count: number): Promise<void> {
    this.#take(count);
    await this.line.sendAsync(buffer, length);
  }

  sendSync({ memory, length }: AttributeWriter, count: number): void {
    this.#take(count);
    this.line.send(memory, length);
  }

  /**
   * All objects of a kind, by and by; `pause` is asked between two parts for what is to be waited for. Throws
   * Interrupted where not all of them came, or not all of one moment, SocketError where the kernel refused the dump, and
   * what the pause failed with.
   */
  async dump(
    write: Write,
    visit: (message: Message) => void,
    waits: Waits,
    pause: Pause = waits === 'event loop' ? restBetweenSlices(new EventLoopYield()) : () => undefined,
  ) {
    const reader = new DumpReader(this.#write([write]), visit);
    await this.line.sendAsync(this.#writer.buffer, this.#writer.length);
    const receive = async () => (waits === 'thread' ? this.line.receiveAsync() : this.line.receive());
    while (!reader.take(this.line.received, await receive()))
      await pause()?.catch(error => reader.fail(error));
  }

  #write(writes: readonly Write[]): number {
    const first = this.#take(writes.length);
    this.#writer.clear();
    for (let index = 0; index < writes.length; index++) writes[index]!(this.#writer, (first + index) >>> 0);
    return first;
  }

  /** Reads all answers that are there, even if `visit` throws: the next answers must belong to the next request. */
  #answers(first: number, count: number, visit: VisitAnswer): void {
    let fault: unknown;
    for (let length = this.line.receive(); length !== NOTHING; length = this.line.receive()) {
      if (length === OVERRUN) fault ??= new SocketError('recv', ENOBUFS);
      else fault = this.#answersIn(length, first, count, visit) ?? fault;
    }
    if (fault !== undefined) throw fault;
  }

  #answersIn(length: number, first: number, count: number, visit: VisitAnswer): unknown {
    try {
      for (const message of readMessages(this.line.received, length)) {
        const index = (message.sequence - first) >>> 0;
        if (index < count) visit(message, index); // else left over from before
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #take(count: number): number {
    const first = this.#next;
    this.#next = (first + count) >>> 0;
    return first;
  }
}

const EBADF = 9;

export function restBetweenSlices(slices: EventLoopYield): Pause {
  return () => (slices.isOver ? slices.rest() : undefined);
}

/** Repeats a dump that was interrupted; after a few attempts it throws Interrupted. */
export async function untilWhole<T>(read: () => Promise<T>, attempts = MOST_ATTEMPTS): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Interrupted) || attempt === attempts) throw error;
    }
  }
}
