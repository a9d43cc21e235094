/** Reads the packets that wait in the kernel's queue, and records the DNS answers in them. */
import type { PodKey } from '../model/cluster.ts';
import type { Leases } from './leases.ts';
import { mostRecordsOf, readAnswer } from './message.ts';
import { readPacket, type Transport } from './packet.ts';
import { AnswerStreams } from './streams.ts';
import { type LeaseChange, lastOfEach } from './subjects.ts';

/** Counts of what became of the packets. */
export interface ReaderCounts {
  /** Packets that were read. */
  seen: number;
  /** Messages from which an address was learnt. */
  learnt: number;
  /** Other messages: a name that no rule has, no address, not exactly one question, or unreadable. */
  passed: number;
  /** Packets that are neither UDP nor TCP, or malformed. */
  unread: number;
}

/**
 * The elements that have to be in the kernel's sets before the packet may go on, and the cost of reading it
 * (workbudget.ts).
 */
export interface Learnt {
  readonly changes: readonly LeaseChange[];
  readonly units: number;
}

export class AnswerReader {
  readonly counts: ReaderCounts = { seen: 0, learnt: 0, passed: 0, unread: 0 };
  readonly #leases: Leases;
  readonly #streams = new AnswerStreams();

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  /** Undefined if the packet is not of interest. */
  read(bytes: Uint8Array): Transport | undefined {
    this.counts.seen++;
    const packet = readPacket(bytes);
    if (packet === undefined) this.counts.unread++;
    return packet;
  }

  learn(packet: Transport, nowMs: number): Learnt {
    let units = 1;
    const changes = this.#messagesOf(packet).flatMap(message => {
      const answer = readAnswer(message);
      const learnt =
        answer === undefined ? [] : this.#leases.recordAnswer(packet.to, answer, nowMs, packet.from);
      this.counts[learnt.length > 0 ? 'learnt' : 'passed']++;
      units += mostRecordsOf(message) + learnt.length;
      return (answer?.names.length ?? 0) > 1 ? lastOfEach(learnt) : learnt;
    });
    return { changes, units };
  }

  /** Forgets the connections of all other pods. */
  retainOnly(pods: ReadonlySet<PodKey>): void {
    this.#streams.retainOnly(pods);
  }

  #messagesOf(packet: Transport): readonly Uint8Array[] {
    const { tcp } = packet;
    if (tcp === undefined) return [packet.payload];
    const pod = this.#leases.podAt(packet.to);
    return pod === undefined ? [] : this.#streams.take(pod, { ...packet, tcp });
  }
}
