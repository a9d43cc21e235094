/**
 * The TCP connections over which DNS answers come. Only a limited number is kept: answers on others are delivered, but
 * nothing is learnt from them.
 */

import { largestHolding } from '../lib/fairness/quota.ts';
import { namespaceOfPod, type PodKey } from '../model/cluster.ts';
import type { Transport } from './packet.ts';

/** How many connections of one pod are kept; beyond that the pod's own oldest one is dropped. */
const MOST_OF_POD = 16;
/** Bytes of all connections together; beyond that the pod with most unfinished bytes loses a connection first. */
const MOST_KEPT = 8 << 20;

export type TcpSegment = Transport & { readonly tcp: NonNullable<Transport['tcp']> };

/** The connections of one pod, sorted from the oldest. */
class PodStreams {
  readonly namespace: string;
  readonly #streams = new Map<string, AnswerStream>();
  /** The bytes of all connections of the pod. */
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

  /** How many bytes are kept. */
  get size(): number {
    return this.#size;
  }

  /** The messages that a segment to the pod completes; none for a connection whose beginning was not seen. */
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

  /** Forgets the connections of all other pods: a pod that ended may not have closed them. */
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

// The answers of one TCP connection, assembled from its segments: a message is complete when its last byte has arrived.
// A segment that arrives too early is kept until those before it have come, and a repeated one is ignored. All segments
// are delivered to the pod, which reads no byte before those in front of it.

/** The most bytes kept for a connection. */
export const MOST_STREAM_BYTES = 64 << 10;
/** How many early segments are kept: each costs more memory than its bytes. */
const MOST_AHEAD = 128;
const LENGTH = 2;

class AnswerStream {
  /** The sequence number of the next byte. */
  #next: number;
  /** The bytes that have arrived in order and are not a complete message yet. The buffer doubles when it is full. */
  #bytes: Uint8Array = new Uint8Array(0);
  #length = 0;
  readonly #ahead = new Map<number, Uint8Array>();

  /** `sequence`: the sequence number of the SYN. */
  constructor(sequence: number) {
    this.#next = (sequence + 1) >>> 0;
  }

  /** The memory that the stream takes, in bytes. */
  get size(): number {
    return this.#bytes.length + this.#aheadBytes();
  }

  /**
   * The messages that this segment completes; undefined if there is too much to keep, and the stream cannot be read any
   * further.
   */
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

  /** Appends early segments whose turn has come, in order. */
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
