/** An rtnetlink socket: messages in, acknowledgements and answers out. Of one network namespace, for good. */

import { NLMSG } from '../nftables/constants.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { errnoName } from '../wire/errno.ts';
import { type Message, readMessages } from '../wire/messages.ts';
import { readReply } from '../wire/replies.ts';
import { NetlinkSocket, NOTHING, OVERRUN } from '../wire/socket.ts';
import { NETLINK_ROUTE } from './rtnetlink.ts';

/** A message that the kernel refused; those before it and behind it in the same send were taken. */
export class RtnetlinkError extends Error {
  override readonly name = 'RtnetlinkError';
  readonly code: string;
  /** Which message of the send it was. */
  readonly index: number;

  constructor(errno: number, index: number, what: string, text = '') {
    super(`${what}: ${errnoName(errno)}${text === '' ? '' : ` (${text})`}`);
    this.code = errnoName(errno);
    this.index = index;
  }
}

/** One message to be, and what it does: for the error that tells of it. */
export interface Step {
  readonly what: string;
  readonly write: (to: AttributeWriter, sequence: number) => void;
}

/** Steps of one send: a socket holds the answers to many more, also where all are refused. */
const MOST_STEPS = 4096;
const ENOBUFS = 105;
const INTERRUPTED = 'EAGAIN';
const MOST_ATTEMPTS = 10;
const NLM_F_DUMP_INTR = 0x10;

export class RtnetlinkSocket {
  readonly #socket: NetlinkSocket;
  readonly #writer = new AttributeWriter();
  #sequence = 0;
  /** Ends with what was last asked for: one conversation at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  /** In the namespace of the calling thread, or of the socket `fd` that was made elsewhere. */
  constructor(fd?: number) {
    this.#socket = new NetlinkSocket(NETLINK_ROUTE, fd);
  }

  /**
   * Sends all steps at once, up to some thousands: a process that is killed has sent all of them or none. Every step
   * is tried; throws RtnetlinkError for the first that was refused.
   */
  change(steps: readonly Step[]): Promise<void> {
    return this.#inTurn(() => this.#change(steps));
  }

  /** The one object that is asked for; undefined where there is none. */
  async get<T>(step: Step, read: (message: Message) => T | undefined): Promise<T | undefined> {
    return (await this.getEach([step], read))[0];
  }

  /** The same of several in one send. `read` must keep nothing of the message. */
  getEach<T>(
    steps: readonly Step[],
    read: (message: Message, index: number) => T | undefined,
  ): Promise<(T | undefined)[]> {
    return this.#inTurn(async () => {
      const first = await this.#send(steps);
      const found = steps.map((): T | undefined => undefined);
      for (const message of this.#received(first, steps.length)) {
        const index = message.sequence - first;
        const reply = readReply(message);
        if (reply === undefined) found[index] ??= read(message, index);
        else if (reply.errno !== 0 && !ABSENT.has(errnoName(reply.errno)))
          throw new RtnetlinkError(reply.errno, index, steps[index]!.what, reply.text);
      }
      return found;
    });
  }

  /**
   * All objects that are asked for, read at one moment. `read` must keep nothing of the message. The kernel makes
   * what is `locked` under the lock that every change of an interface takes, so another thread waits for it.
   */
  dump<T>(step: Step, read: (message: Message) => T | undefined, how?: 'locked'): Promise<T[]> {
    return this.#inTurn(async () => {
      for (let attempt = 1; ; attempt++) {
        const found = await this.#dump(step, read, how);
        if (found !== undefined) return found;
        if (attempt === MOST_ATTEMPTS) throw new Error(`${step.what}: ${INTERRUPTED}`);
      }
    });
  }

  close(): void {
    void this.#turn.then(() => this.#socket.close());
  }

  async #change(steps: readonly Step[]): Promise<void> {
    let refused: RtnetlinkError | undefined;
    for (let start = 0; start < steps.length; start += MOST_STEPS) {
      const found = await this.#refusal(steps.slice(start, start + MOST_STEPS), start);
      refused ??= found;
    }
    if (refused !== undefined) throw refused;
  }

  /** Of the first that was refused; `start` is the number of the first step. */
  async #refusal(steps: readonly Step[], start: number): Promise<RtnetlinkError | undefined> {
    const first = await this.#send(steps);
    let refused: RtnetlinkError | undefined;
    for (const message of this.#received(first, steps.length)) {
      const reply = readReply(message);
      if (reply === undefined || reply.errno === 0) continue;
      const index = reply.sequence - first;
      const error = new RtnetlinkError(reply.errno, start + index, steps[index]!.what, reply.text);
      if (refused === undefined || error.index < refused.index) refused = error;
    }
    return refused;
  }

  async #dump<T>(
    step: Step,
    read: (message: Message) => T | undefined,
    how: 'locked' | undefined,
  ): Promise<T[] | undefined> {
    const sequence = await this.#send([step]);
    const found: T[] = [];
    let interrupted = false;
    for (let first = true; ; first = false) {
      // The send made the first of it, as a rule all; to take that makes the next.
      const length = first && how !== 'locked' ? this.#socket.receive() : await this.#socket.receiveAsync();
      if (length <= 0) return undefined;
      for (const message of readMessages(this.#socket.received, length)) {
        if (message.sequence !== sequence) continue;
        interrupted ||= (message.flags & NLM_F_DUMP_INTR) !== 0;
        const reply = readReply(message);
        if (reply !== undefined && reply.errno !== 0) {
          // A table that no route has ever been in.
          if (ABSENT.has(errnoName(reply.errno))) return [];
          throw new RtnetlinkError(reply.errno, 0, step.what, reply.text);
        }
        if (message.type === NLMSG.DONE) return interrupted ? undefined : found;
        const value = read(message);
        if (value !== undefined) found.push(value);
      }
    }
  }

  /** Everything is answered when the send is done. Answers the number of the first message. */
  async #send(steps: readonly Step[]): Promise<number> {
    const first = this.#sequence + 1;
    this.#writer.clear();
    for (const step of steps) step.write(this.#writer, this.#nextSequence());
    await this.#socket.sendAsync(this.#writer.buffer, this.#writer.length);
    return first;
  }

  *#received(first: number, count: number): Generator<Message> {
    let overrun = false;
    for (let length = this.#socket.receive(); length !== NOTHING; length = this.#socket.receive()) {
      overrun ||= length === OVERRUN;
      for (const message of readMessages(this.#socket.received, length))
        if (message.sequence >= first && message.sequence < first + count) yield message;
    }
    if (overrun) throw new RtnetlinkError(ENOBUFS, 0, `${count} messages: answers were lost`);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  #nextSequence(): number {
    this.#sequence = (this.#sequence + 1) & 0x7fffffff;
    return this.#sequence;
  }
}

const ABSENT = new Set(['ENODEV', 'ENOENT', 'ESRCH', 'ENETUNREACH']);
