/**
 * Brief batches, kept to be sent again. The next change is nearly always one to the same sets, and then its batch
 * differs from an earlier one in sequence numbers, generation and keys only: these are written over, and all the rest
 * exists. To make it anew would take a tenth of the time of the whole commit.
 */
import { keyLength } from '../../../nft/fieldbytes.ts';
import type { Generation } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import { type ElementKey, type FieldType, isMember } from '../../../nft/ruleset.ts';
import { align } from '../wire/attributes.ts';
import { Batch } from './batch.ts';
import { BatchEncoder, type Draft } from './encode.ts';
import { writeKey } from './keys.ts';

// A pod that comes or goes is in a few sets, and most pods are in the same ones.
const MOST_KEPT = 8;

type MemberOp = Extract<Op, { op: 'addElements' | 'delElements' }>;

/** A batch in which every step has one member, and so one message, which ends with the member's key. */
interface Prepared {
  readonly ops: readonly MemberOp[];
  readonly batch: Batch;
  /** The offset of each operation's key. */
  readonly keys: readonly number[];
}

export class PreparedBatches {
  readonly #kept: Prepared[] = [];
  #oldest = 0;
  readonly #other = new Batch();

  /**
   * The batch of `ops` where one like it was made before, else undefined. Valid until the next call. Throws where a
   * key cannot be encoded.
   */
  again(ops: readonly Op[], firstSequence: number, expected: Generation): Batch | undefined {
    const kept = this.#kept;
    for (let i = 0; i < kept.length; i++)
      if (areLike(ops, kept[i]!.ops)) return rewritten(kept[i]!, ops, firstSequence, expected);
    return undefined;
  }

  /** The batch of any draft; valid until the next call. Throws where something cannot be encoded. */
  encode(draft: Draft): Batch {
    const { ops, tables, echo } = draft;
    // A batch that adopts tables or asks for an echo is sent only once, so it is not worth preparing.
    if (tables.length > 0 || echo || ops.length === 0 || !ops.every(isMemberOp))
      return encoded(this.#other, draft);
    const batch = encoded(new Batch(), draft);
    this.#keep({ ops, batch, keys: ops.map(({ set }, step) => batch.endOfStep(step) - keySize(set.key)) });
    return batch;
  }

  #keep(prepared: Prepared): void {
    this.#kept[this.#oldest] = prepared;
    this.#oldest = (this.#oldest + 1) % MOST_KEPT;
  }
}

function encoded(batch: Batch, draft: Draft): Batch {
  const encoder = new BatchEncoder(batch, draft);
  while (encoder.encode());
  return batch;
}

/** `ops` are like those that it was prepared from. */
function rewritten(
  { batch, keys }: Prepared,
  ops: readonly Op[],
  firstSequence: number,
  expected: Generation,
): Batch {
  batch.renumber(firstSequence, expected);
  for (let step = 0; step < ops.length; step++) {
    const op = ops[step] as MemberOp;
    // Overwrites all of the old key except its padding, which is always zero.
    writeKey(op.set.key, keyOf(op), batch.written.buffer, keys[step]!);
  }
  return batch;
}

/** Whether they differ in keys only. Loops, and no closures: this is asked before every brief commit. */
function areLike(ops: readonly Op[], kept: readonly MemberOp[]): boolean {
  if (ops.length !== kept.length) return false;
  for (let step = 0; step < ops.length; step++) if (!isLike(ops[step]!, kept[step]!)) return false;
  return true;
}

function isLike(op: Op, kept: MemberOp): boolean {
  return (
    op.op === kept.op &&
    isMemberOp(op) &&
    op.family === kept.family &&
    op.set.name === kept.set.name &&
    haveSameFields(op.set.key, kept.set.key)
  );
}

function haveSameFields(fields: readonly FieldType[], others: readonly FieldType[]): boolean {
  if (fields === others) return true;
  if (fields.length !== others.length) return false;
  for (let i = 0; i < fields.length; i++) if (fields[i] !== others[i]) return false;
  return true;
}

/** Adds or deletes one element of a hash set, without a verdict, data or a comment. */
function isMemberOp(op: Op): op is MemberOp {
  if (op.op === 'addElements')
    return !op.set.interval && op.elements.length === 1 && isMember(op.elements[0]![1]);
  return op.op === 'delElements' && !op.set.interval && op.keys.length === 1;
}

function keyOf(op: MemberOp): ElementKey {
  return op.op === 'addElements' ? op.elements[0]![0] : op.keys[0]!;
}

function keySize(fields: readonly FieldType[]): number {
  return align(keyLength(fields));
}
