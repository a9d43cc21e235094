/** Reads the packets that wait in the kernel, and records the answers in them. */
import type { PodKey } from '../model/cluster.ts';
import type { Leases } from './leases.ts';
import { mostRecordsOf, readAnswer } from './message.ts';
import { readPacket, type Transport } from './packet.ts';
import { AnswerStreams } from './streams.ts';
import { type LeaseChange, lastOfEach } from './subjects.ts';

/** What became of what waited, counted. */
export interface ReaderCounts {
  /** Packets. */
  seen: number;
  /** Messages with an address for a name that the pod's rules have. */
  learnt: number;
  /** Other messages: another name, no address, not one question, unreadable. */
  passed: number;
  /** Packets that are neither UDP nor TCP, or broken. */
  unread: number;
}

/** What has to stand in the kernel before a packet may go on, and what it took to find out (workbudget.ts). */
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

  /** Undefined where there is nothing in it for us. */
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
