/**
 * A batch, which the kernel applies whole or not at all: BATCH_BEGIN, messages, BATCH_END, all in one send. Every
 * message has its own sequence number, by which an answer is matched with the operation that it is about.
 */
import type { Generation } from '../../../nft/kernel.ts';
import type { TableFamily } from '../../../nft/ruleset.ts';
import { AttributeWriter, bigEndian } from '../wire/attributes.ts';
import { NLM_F, NLMSG } from '../wire/constants.ts';
import { beginMessage, endMessage, MESSAGE_HEADER, NFGEN_HEADER } from '../wire/messages.ts';
import { ANY_NFPROTO, NFNL_BATCH_GENID, type OtherFamily } from './constants.ts';

// nfgenmsg.res_id of BATCH_BEGIN and BATCH_END: the subsystem.
const NFTABLES = 10;

// Offset of nlmsg_flags and nlmsg_seq in nlmsghdr.
const FLAGS_OFFSET = 6;
const SEQUENCE_OFFSET = 8;
const ATTRIBUTE_HEADER = 4;
const NO_STEP = -1;

const KEPT_BYTES = 1 << 18;

/** Kernels before 6.10 ignore an ACK flag on BATCH_END: then the last message before it carries it. */
export type AckOn = 'end' | 'last';

export class Batch {
  /** The batch is what was written, up to the next `begin`. */
  written = new AttributeWriter();
  #first = 0;
  /** For each message the step that it is part of (NO_STEP for none), and its place. Message 0 is BATCH_BEGIN. */
  #steps = new Int32Array(64);
  #starts = new Int32Array(64);
  #count = 0;
  #step = NO_STEP;
  #sets = 0;
  #acknowledged = 0;

  /** The kernel refuses the batch if its generation is not `expected`; zero is none. */
  begin(firstSequence: number, expected: Generation): void {
    this.written.clear();
    this.#first = firstSequence;
    this.#count = 0;
    this.#step = NO_STEP;
    this.#sets = 0;
    const start = this.#message(NLMSG.BATCH_BEGIN, 0, 0, NFTABLES);
    this.written.u32(NFNL_BATCH_GENID, expected);
    endMessage(this.written, start);
  }

  /** Gives back the room that a big batch took, and with it the batch. */
  release(): void {
    if (this.written.buffer.length > KEPT_BYTES) this.written = new AttributeWriter();
  }

  /** Changes the generation that `begin` set. */
  expect(generation: Generation): void {
    this.written.patch(MESSAGE_HEADER + NFGEN_HEADER + ATTRIBUTE_HEADER, bigEndian(generation));
  }

  /** Numbers the same messages again, so that they can be sent as another batch. */
  renumber(firstSequence: number, expected: Generation): void {
    this.#first = firstSequence;
    for (let i = 0; i < this.#count; i++)
      this.written.patch(this.#starts[i]! + SEQUENCE_OFFSET, firstSequence + i);
    this.expect(expected);
  }

  /** The messages from here on belong to step `step`. */
  beginStep(step: number): void {
    this.#step = step;
  }

  /** One message about a table of `family`; `content` writes its attributes. */
  message(
    type: number,
    flags: number,
    family: TableFamily | OtherFamily,
    content: (to: AttributeWriter) => void,
  ): void {
    const start = this.#message(type, flags, ANY_NFPROTO[family], 0);
    content(this.written);
    endMessage(this.written, start);
  }

  /** NFTA_SET_ID: unlike any other in this batch. */
  nextSetId(): number {
    this.#sets++;
    return this.#sets;
  }

  end(ack: AckOn): void {
    if (ack === 'last') this.#acknowledgeLast();
    this.#step = NO_STEP;
    this.#acknowledged = this.#count - (ack === 'last' ? 1 : 0);
    endMessage(this.written, this.#message(NLMSG.BATCH_END, ack === 'end' ? NLM_F.ACK : 0, 0, NFTABLES));
  }

  /** The sequence number that the one acknowledgement of the batch carries. */
  get acknowledged(): number {
    return (this.#first + this.#acknowledged) >>> 0;
  }

  /** How many, with BATCH_BEGIN and BATCH_END. */
  get messages(): number {
    return this.#count;
  }

  holds(sequence: number): boolean {
    return this.#indexOf(sequence) < this.#count;
  }

  /** The operation to which a message belongs; undefined for BATCH_BEGIN and BATCH_END. */
  stepOf(sequence: number): number | undefined {
    const step = this.holds(sequence) ? this.#steps[this.#indexOf(sequence)] : NO_STEP;
    return step === NO_STEP ? undefined : step;
  }

  /** The offset at which a message of this batch begins. */
  startOf(sequence: number): number {
    return this.#starts[this.#indexOf(sequence)]!;
  }

  /** Where step `step` ends, in a batch that was ended, and in which every step is one message. */
  endOfStep(step: number): number {
    return this.#starts[step + 2]!; // the following message; the first is BATCH_BEGIN
  }

  #indexOf(sequence: number): number {
    return (sequence - this.#first) >>> 0;
  }

  #message(type: number, flags: number, nfproto: number, resource: number): number {
    const sequence = (this.#first + this.#count) >>> 0;
    const start = beginMessage(this.written, type, NLM_F.REQUEST | flags, sequence, nfproto, resource);
    if (this.#count === this.#starts.length) this.#growTables();
    this.#starts[this.#count] = start;
    this.#steps[this.#count] = this.#step;
    this.#count++;
    return start;
  }

  #growTables(): void {
    this.#starts = doubled(this.#starts);
    this.#steps = doubled(this.#steps);
  }

  #acknowledgeLast(): void {
    const flags = this.#starts[this.#count - 1]! + FLAGS_OFFSET;
    this.written.buffer.writeUInt16LE(this.written.buffer.readUInt16LE(flags) | NLM_F.ACK, flags);
  }
}

function doubled(table: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * table.length);
  larger.set(table);
  return larger;
}
