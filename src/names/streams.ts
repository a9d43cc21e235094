/** The TCP connections over which answers come, as many as are kept: what goes beyond is delivered, and not learnt. */
import type { Address } from '../model/address.ts';
import type { Transport } from './packet.ts';
import { AnswerStream } from './stream.ts';

/** Of one pod, so that none takes the room of another: its oldest goes. */
const MOST_OF_POD = 16;
const MOST_PODS = 256;

export type TcpSegment = Transport & { readonly tcp: NonNullable<Transport['tcp']> };

export class AnswerStreams {
  readonly #pods = new Map<Address, Map<string, AnswerStream>>();

  /** The messages that a segment completes; none of a connection whose beginning was not seen. */
  take(segment: TcpSegment): Uint8Array[] {
    const { tcp, payload, to } = segment;
    if (tcp.syn) return this.#begin(segment);
    const streams = this.#pods.get(to);
    const stream = streams?.get(keyOf(segment));
    if (streams === undefined || stream === undefined) return [];
    const messages = stream.take(tcp.sequence, payload);
    if (messages === undefined || tcp.ends) streams.delete(keyOf(segment));
    if (streams.size === 0) this.#pods.delete(to);
    return messages ?? [];
  }

  #begin(segment: TcpSegment): [] {
    const streams = this.#pods.get(segment.to) ?? new Map<string, AnswerStream>();
    if (this.#pods.size >= MOST_PODS && !this.#pods.has(segment.to)) return [];
    this.#pods.set(segment.to, streams);
    streams.delete(keyOf(segment));
    streams.set(keyOf(segment), new AnswerStream(segment.tcp.sequence));
    if (streams.size > MOST_OF_POD) streams.delete(streams.keys().next().value!);
    return [];
  }
}

function keyOf({ from, port }: TcpSegment): string {
  return `${from} ${port}`;
}
