/**
 * One TCP connection's answers, put together from its segments: a message is there when the last of its bytes is. A
 * segment that is ahead of others is kept until they come, and one that came before is passed over; all of them go on
 * to the pod, which reads no byte before those in front of it.
 */

/** What is kept of a connection. */
export const MOST_STREAM_BYTES = 64 << 10;
/** Segments that are ahead: each costs more than its bytes. */
const MOST_AHEAD = 128;
const LENGTH = 2;

export class AnswerStream {
  /** The sequence number of the next byte. */
  #next: number;
  /** What has come in order, and is no whole message yet. */
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #ahead = new Map<number, Uint8Array>();

  /** `sequence` is that of the SYN. */
  constructor(sequence: number) {
    this.#next = (sequence + 1) >>> 0;
  }

  /** The messages that this segment completes. Undefined where there is too much to keep: the stream is of no use then. */
  take(sequence: number, payload: Uint8Array): Uint8Array[] | undefined {
    this.#append(sequence, payload);
    this.#catchUp();
    const messages = this.#cut();
    const isTooMuch = this.#ahead.size > MOST_AHEAD || this.#kept() > MOST_STREAM_BYTES;
    return isTooMuch ? undefined : messages;
  }

  #append(sequence: number, payload: Uint8Array): void {
    const ahead = (sequence - this.#next) | 0;
    if (payload.length === 0) return;
    if (ahead > 0) {
      const known = this.#ahead.get(sequence);
      if (known === undefined || known.length < payload.length) this.#ahead.set(sequence, payload.slice());
      return;
    }
    const rest = payload.subarray(Math.min(-ahead, payload.length));
    this.#bytes = concat(this.#bytes, rest);
    this.#next = (this.#next + rest.length) >>> 0;
  }

  /** Appends what was ahead and is not any more, the nearest first. */
  #catchUp(): void {
    const distance = (sequence: number) => (sequence - this.#next) | 0;
    for (const sequence of [...this.#ahead.keys()].sort((a, b) => distance(a) - distance(b))) {
      if (distance(sequence) > 0) return;
      const payload = this.#ahead.get(sequence)!;
      this.#ahead.delete(sequence);
      this.#append(sequence, payload);
    }
  }

  #cut(): Uint8Array[] {
    const messages: Uint8Array[] = [];
    let at = 0;
    while (at + LENGTH <= this.#bytes.length) {
      const end = at + LENGTH + ((this.#bytes[at]! << 8) | this.#bytes[at + 1]!);
      if (end > this.#bytes.length) break;
      messages.push(this.#bytes.subarray(at + LENGTH, end));
      at = end;
    }
    if (at > 0) this.#bytes = this.#bytes.slice(at);
    return messages;
  }

  #kept(): number {
    return [...this.#ahead.values()].reduce((sum, { length }) => sum + length, this.#bytes.length);
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
