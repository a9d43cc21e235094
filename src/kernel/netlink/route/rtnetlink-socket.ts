/** An rtnetlink socket: messages in, acknowledgements and answers out. Of one network namespace, for good. */

import type { AttributeWriter } from '../wire/attributes.ts';
import { errnoName } from '../wire/constants.ts';
import { Conversation, untilWhole, type Waits, type Write } from '../wire/conversation.ts';
import { type Message, readReply } from '../wire/messages.ts';
import { NetlinkSocket, SocketError } from '../wire/socket.ts';
import { NETLINK_ROUTE } from './constants.ts';
import { writeGetLink } from './rtnetlink.ts';
import { type Link, readLink } from './rtnetlink-read.ts';

/** A message that the kernel refused; those before it and behind it in the same send were taken. */
export class RtnetlinkError extends Error {
  override readonly name = 'RtnetlinkError';
  readonly code: string;
  /** The index of the refused message in its send. */
  readonly index: number;

  constructor(code: string, index: number, what: string, text = '') {
    super(`${what}: ${code}${text === '' ? '' : ` (${text})`}`);
    this.code = code;
    this.index = index;
  }
}

/** One message to be, and what it does: for the error about it. */
export interface RouteStep {
  readonly what: string;
  readonly write: Write;
  /** Errors by which the kernel says that there is nothing of what was asked for, beside the usual ones. */
  readonly absent?: ReadonlySet<string>;
}

/** Errors for an address with a blackhole, unreachable or prohibit route. */
export const NO_ROUTE: ReadonlySet<string> = new Set(['EINVAL', 'EHOSTUNREACH', 'EACCES']);

/** Steps of one send: a socket holds the answers to many more, also where all are refused. */
const MOST_STEPS = 4096;

export class RtnetlinkSocket {
  readonly #conversation: Conversation;

  /** Opens a socket in the namespace of the calling thread, or takes `fd`, a socket made in another one. */
  constructor(fd?: number) {
    this.#conversation = new Conversation(new NetlinkSocket(NETLINK_ROUTE, fd));
  }

  /**
   * Sends all steps at once, up to some thousands: a process that is killed has sent all of them or none. Every step
   * is tried; throws RtnetlinkError for the first that was refused.
   */
  change(steps: readonly RouteStep[]): Promise<void> {
    return this.#conversation.inTurn(() => this.#change(steps));
  }

  /** The one object that is asked for; undefined where there is none. */
  async get<T>(step: RouteStep, read: (message: Message) => T | undefined): Promise<T | undefined> {
    return (await this.getEach([step], read))[0];
  }

  /** Gets several objects with one send. `read` must not keep the message. */
  getEach<T>(
    steps: readonly RouteStep[],
    read: (message: Message, index: number) => T | undefined,
  ): Promise<(T | undefined)[]> {
    return this.#conversation.inTurn(async () => {
      const found = steps.map((): T | undefined => undefined);
      let refused: RtnetlinkError | undefined;
      await this.#ask(steps, (message, index) => {
        const reply = readReply(message);
        if (reply === undefined) found[index] ??= read(message, index);
        else if (reply.errno !== 0 && !isAbsent(errnoName(reply.errno), steps[index]!))
          refused ??= new RtnetlinkError(errnoName(reply.errno), index, steps[index]!.what, reply.text);
      });
      if (refused !== undefined) throw refused;
      return found;
    });
  }

  /**
   * All objects that are asked for, read at one moment. `read` must keep nothing of the message. The kernel makes
   * what is `locked` under the lock that every change of an interface takes, so another thread waits for it.
   */
  dump<T>(step: RouteStep, read: (message: Message) => T | undefined, how?: 'locked'): Promise<T[]> {
    const waits = how === 'locked' ? 'thread' : 'event loop';
    return this.#conversation.inTurn(() => untilWhole(() => this.#dump(step, read, waits)));
  }

  close(): void {
    this.#conversation.close();
  }

  async #change(steps: readonly RouteStep[]): Promise<void> {
    let refused: RtnetlinkError | undefined;
    for (let start = 0; start < steps.length; start += MOST_STEPS) {
      const found = await this.#refusal(steps.slice(start, start + MOST_STEPS), start);
      refused ??= found;
    }
    if (refused !== undefined) throw refused;
  }

  /** The error of the first step that was refused; `start` is the number of the first step. */
  async #refusal(steps: readonly RouteStep[], start: number): Promise<RtnetlinkError | undefined> {
    let refused: RtnetlinkError | undefined;
    await this.#ask(steps, (message, index) => {
      const reply = readReply(message);
      if (reply === undefined || reply.errno === 0) return;
      const error = new RtnetlinkError(errnoName(reply.errno), start + index, steps[index]!.what, reply.text);
      if (refused === undefined || error.index < refused.index) refused = error;
    });
    return refused;
  }

  async #dump<T>(
    { what, write }: RouteStep,
    read: (message: Message) => T | undefined,
    waits: Waits,
  ): Promise<T[]> {
    const found: T[] = [];
    const keep = (message: Message) => {
      const value = read(message);
      if (value !== undefined) found.push(value);
    };
    try {
      await this.#conversation.dump(write, keep, waits);
      return found;
    } catch (error) {
      if (!(error instanceof SocketError)) throw error;
      // A table that no route has ever been in.
      if (ABSENT.has(error.code)) return [];
      throw new RtnetlinkError(error.code, 0, what);
    }
  }

  async #ask(steps: readonly RouteStep[], visit: (message: Message, index: number) => void): Promise<void> {
    try {
      await this.#conversation.ask(
        steps.map(({ write }) => write),
        visit,
      );
    } catch (error) {
      if (!(error instanceof SocketError) || error.code !== 'ENOBUFS') throw error;
      throw new RtnetlinkError(error.code, 0, `${steps.length} messages: answers were lost`);
    }
  }
}

const ABSENT = new Set(['ENODEV', 'ENOENT', 'ESRCH', 'ENETUNREACH']);

function isAbsent(code: string, { absent }: RouteStep): boolean {
  return ABSENT.has(code) || absent?.has(code) === true;
}

/** Lists all interfaces of the socket's network namespace. */
export function listLinks(socket: Pick<RtnetlinkSocket, 'dump'>): Promise<Link[]> {
  const write = (to: AttributeWriter, sequence: number) => writeGetLink(to, sequence);
  return socket.dump({ what: 'list interfaces', write }, readLink, 'locked');
}
