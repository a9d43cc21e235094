/** The TCP connections over which answers come, as many as are kept: what goes beyond is delivered, and not learnt. */

import { largestHolding } from '../lib/fairness/quota.ts';
import { namespaceOfPod, type PodKey } from '../model/cluster.ts';
import type { Transport } from './packet.ts';
import { AnswerStream } from './stream.ts';

/** Of one pod, so that none takes the room of another: its oldest goes. */
const MOST_OF_POD = 16;
/** Bytes of all: whoever has begun a long answer over each connection, and does not take the rest, has most of them. */
const MOST_KEPT = 8 << 20;

export type TcpSegment = Transport & { readonly tcp: NonNullable<Transport['tcp']> };

/** Of one pod, the oldest first. */
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

  /** A pod that ended may have left connections that nobody closed. */
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
