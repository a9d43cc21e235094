/** The TCP connections over which answers come, as many as are kept: what goes beyond is delivered, and not learnt. */

import { largestHolding } from '../lib/fairness/quota.ts';
import { namespaceOfPod, type PodKey } from '../model/cluster.ts';
import type { Transport } from './packet.ts';

/** Connections kept for one pod; beyond it the pod's oldest is dropped, and no other pod's. */
const MOST_OF_POD = 16;
/** Bytes of all connections together; the pod that leaves most answers unfinished loses first. */
const MOST_KEPT = 8 << 20;

export type TcpSegment = Transport & { readonly tcp: NonNullable<Transport['tcp']> };

/** The connections of one pod, the oldest first. */
class PodStreams {
  readonly namespace: string;
  readonly #streams = new Map<string, AnswerStream>();
  /** Bytes. */
  size = 0;

  constructor(pod: PodKey) {
    this.namespace = namespaceOfPod(pod);
  }

  get isEmpty(): boolean {
    return this.#streams.size === 0;
  }

  begin(key: string, sequence: number): void {
    this.end(key);
    this.#streams.set(key, new AnswerStream(sequence));
    if (this.#streams.size > MOST_OF_POD) this.endOldest();
  }

  take(key: string, { tcp, payload }: TcpSegment): Uint8Array[] {
    const stream = this.#streams.get(key);
    if (stream === undefined) return [];
    const before = stream.size;
    const messages = stream.take(tcp.sequence, payload);
    this.size += stream.size - before;
    if (messages === undefined || tcp.ends) this.end(key);
    return messages ?? [];
  }

  endOldest(): void {
    for (const key of this.#streams.keys()) {
      this.end(key);
      return;
    }
  }

  end(key: string): void {
    this.size -= this.#streams.get(key)?.size ?? 0;
    this.#streams.delete(key);
  }
}

export class AnswerStreams {
  readonly #pods = new Map<PodKey, PodStreams>();
  #size = 0;

  /** Bytes that are kept. */
  get size(): number {
    return this.#size;
  }

  /** The messages that a segment to the pod completes; none of a connection whose beginning was not seen. */
  take(pod: PodKey, segment: TcpSegment): Uint8Array[] {
    const { tcp, from, port } = segment;
    const own = this.#pods.get(pod) ?? new PodStreams(pod);
    const before = own.size;
    const key = `${from} ${port}`;
    if (tcp.syn) own.begin(key, tcp.sequence);
    const messages = tcp.syn ? [] : own.take(key, segment);
    this.#size += own.size - before;
    if (own.isEmpty) this.#pods.delete(pod);
    else this.#pods.set(pod, own);
    this.#makeRoom();
    return messages;
  }

  /** A pod that ended may have left open connections behind. */
  retainOnly(pods: ReadonlySet<PodKey>): void {
    for (const [pod, { size }] of this.#pods)
      if (!pods.has(pod)) {
        this.#pods.delete(pod);
        this.#size -= size;
      }
  }

  #makeRoom(): void {
    while (this.#size > MOST_KEPT) {
      const most = largestHolding(this.#pods.values())!;
      this.#size -= most.size;
      most.endOldest();
      this.#size += most.size;
    }
  }
}

// One TCP connection's answers, put together from its segments: a message is there when the last of its bytes is. A
// segment that is ahead of others is kept until they come, and one that came before is passed over; all of them go on
// to the pod, which reads no byte before those in front of it.

/** What is kept of a connection. */
export const MOST_STREAM_BYTES = 64 << 10;
/** Segments that are ahead: each costs more than its bytes. */
const MOST_AHEAD = 128;
const LENGTH = 2;

class AnswerStream {
  /** The sequence number of the next byte. */
  #next: number;
  /** With what has come in order, and is no whole message yet; twice as large whenever it is full. */
  #bytes: Uint8Array = new Uint8Array(0);
  #length = 0;
  readonly #ahead = new Map<number, Uint8Array>();

  /** `sequence` is that of the SYN. */
  constructor(sequence: number) {
    this.#next = (sequence + 1) >>> 0;
  }

  /** Bytes of memory. */
  get size(): number {
    return this.#bytes.length + this.#aheadBytes();
  }

  /** The messages that this segment completes. Undefined where there is too much to keep: the stream is of no use then. */
  take(sequence: number, payload: Uint8Array): Uint8Array[] | undefined {
    this.#append(sequence, payload);
    this.#catchUp();
    const messages = this.#cut();
    const isTooMuch = this.#ahead.size > MOST_AHEAD || this.#length + this.#aheadBytes() > MOST_STREAM_BYTES;
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
    this.#put(rest);
    this.#next = (this.#next + rest.length) >>> 0;
  }

  #put(rest: Uint8Array): void {
    const length = this.#length + rest.length;
    if (length > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, MOST_STREAM_BYTES)));
      bytes.set(this.#bytes);
      this.#bytes = bytes;
    }
    this.#bytes.set(rest, this.#length);
    this.#length = length;
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
    const written = this.#bytes.subarray(0, this.#length);
    const messages: Uint8Array[] = [];
    let at = 0;
    while (at + LENGTH <= written.length) {
      const end = at + LENGTH + ((written[at]! << 8) | written[at + 1]!);
      if (end > written.length) break;
      messages.push(written.subarray(at + LENGTH, end));
      at = end;
    }
    if (at === 0) return messages;
    this.#bytes = written.slice(at);
    this.#length = this.#bytes.length;
    return messages;
  }

  #aheadBytes(): number {
    let sum = 0;
    for (const { length } of this.#ahead.values()) sum += length;
    return sum;
  }
}
