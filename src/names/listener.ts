/** From the packets that wait in the kernel to what they tell: the whole of what is decided about an answer. */
import type { Leases } from './leases.ts';
import { readAnswer } from './message.ts';
import { readPacket } from './packet.ts';
import { AnswerStreams } from './streams.ts';
import type { LeaseChange } from './subjects.ts';

/** What became of what waited, counted. */
export interface ListenerCounts {
  /** Packets. */
  seen: number;
  /** Messages that told a pod an address that its rules mean. */
  learnt: number;
  /** Messages that told nothing of that kind: another name, no address, no answer to one question, unreadable. */
  passed: number;
  /** Packets that are neither UDP nor TCP, or broken. */
  unread: number;
}

export class AnswerListener {
  readonly counts: ListenerCounts = { seen: 0, learnt: 0, passed: 0, unread: 0 };
  readonly #leases: Leases;
  readonly #streams = new AnswerStreams();

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  /** What has to stand in the kernel before the packet may go on. */
  hear(bytes: Uint8Array, nowMs: number): LeaseChange[] {
    this.counts.seen++;
    const packet = readPacket(bytes);
    if (packet === undefined) {
      this.counts.unread++;
      return [];
    }
    const { tcp } = packet;
    const messages = tcp === undefined ? [packet.payload] : this.#streams.take({ ...packet, tcp });
    return messages.flatMap(message => {
      const answer = readAnswer(message);
      const changes = answer === undefined ? [] : this.#leases.told(packet.to, answer, nowMs);
      this.counts[changes.length > 0 ? 'learnt' : 'passed']++;
      return changes;
    });
  }
}
