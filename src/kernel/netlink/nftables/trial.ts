/**
 * What is put to the kernel to see whether it is taken: a batch without an end, which is rolled back, and whose errors
 * are answered message by message. To roll it back the kernel waits for all packets under way, some ten milliseconds:
 * so everything is asked in one.
 */
import type { Op } from '../../../nft/plan/op.ts';
import type { Reply } from '../wire/replies.ts';
import { Batch } from './batch.ts';
import { BatchEncoder } from './encode.ts';
import type { Exchange } from './exchange.ts';

/** What of an exchange it takes. */
export type Asking = Pick<Exchange, 'nextSequence' | 'commit'>;

/** Writes messages that no operation of ours makes. */
export type TrialMessages = (batch: Batch) => void;

/** The steps of the batch are the operations, and behind them the questions. */
export interface Trial {
  readonly batch: Batch;
  /** What was refused of the steps from `from` up to `to`; of all of them, where the batch was refused as a whole. */
  errorsOf(from: number, to: number): readonly Reply[];
}

export async function tryOut(
  exchange: Asking,
  ops: readonly Op[],
  questions: readonly TrialMessages[],
): Promise<Trial> {
  const batch = new Batch();
  writeOps(batch, ops, exchange.nextSequence);
  questions.forEach((write, index) => {
    batch.beginStep(ops.length + index);
    write(batch);
  });
  const { errors } = await exchange.commit(batch);
  const errorsOf = (from: number, to: number) =>
    errors.filter(({ sequence }) => isIn(batch.stepOf(sequence), from, to));
  return { batch, errorsOf };
}

function isIn(step: number | undefined, from: number, to: number): boolean {
  return step === undefined || (step >= from && step < to);
}

function writeOps(batch: Batch, ops: readonly Op[], firstSequence: number): void {
  const encoder = new BatchEncoder(batch, {
    ops,
    firstSequence,
    expected: 0,
    ack: 'last',
    tableFlags: 0,
    tables: [],
    echo: false,
    additions: 'new',
  });
  for (const _ of ops) encoder.encode();
}
