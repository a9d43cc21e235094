/**
 * Reads the datagrams of a dump, one after the other. A dump is read to its end even after an error: until then the
 * kernel refuses the next dump on the same socket (EBUSY).
 *
 *     reading ──NLMSG_DONE──▶ whole
 *        │
 *        └── changed meanwhile, answers lost, refused, failed, `visit` threw: visits nothing more ──NLMSG_DONE──▶ throws
 */
import { NLM_F, NLMSG } from './constants.ts';
import { type Message, readMessages, readReply } from './messages.ts';
import { NOTHING, OVERRUN, SocketError } from './socket.ts';

/** Not all of a dump came, or not all of one moment: what was visited of it is worth nothing. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export class DumpReader {
  readonly #sequence: number;
  readonly #visit: (message: Message) => void;
  #fault: unknown;

  /** `visit` must keep nothing of the message. */
  constructor(sequence: number, visit: (message: Message) => void) {
    this.#sequence = sequence;
    this.#visit = visit;
  }

  /**
   * The next datagram, or NOTHING or OVERRUN in its place; answers whether that was the last. Throws then, if not all
   * of it was good: Interrupted, SocketError where the kernel refused the dump, what `visit` threw, or what it `fail`ed with.
   */
  take(bytes: Buffer, length: number): boolean {
    if (length === OVERRUN) {
      this.#fault ??= new Interrupted('answers were lost');
      return false;
    }
    // The kernel makes the next part when the one before is taken: where there is none, none will come.
    const ends = length === NOTHING || this.#takeMessages(bytes, length);
    if (!ends) return false;
    if (length === NOTHING) this.#fault ??= new Interrupted('a dump ended early');
    if (this.#fault !== undefined) throw this.#fault;
    return true;
  }

  /** Visits nothing more; the dump ends with this error. */
  fail(error: unknown): void {
    this.#fault ??= error;
  }

  #takeMessages(bytes: Buffer, length: number): boolean {
    for (const message of readMessages(bytes, length)) {
      if (message.sequence !== this.#sequence) continue; // left over from before
      if ((message.flags & NLM_F.DUMP_INTR) !== 0)
        this.#fault ??= new Interrupted('changed while it was read');
      const reply = readReply(message);
      if (reply !== undefined && reply.errno !== 0) {
        this.#fault ??= new SocketError('dump', reply.errno);
        return true;
      }
      if (message.type === NLMSG.DONE) return true;
      this.#visitUnlessFaulty(message);
    }
    return false;
  }

  #visitUnlessFaulty(message: Message): void {
    if (this.#fault !== undefined) return;
    try {
      this.#visit(message);
    } catch (error) {
      this.#fault = error;
    }
  }
}
