/** Puts batches into force, one at a time, and finds out the generation that each made. */

import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { type Generation, KernelError } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import {
  adoption,
  after,
  attemptOutcome,
  type Circumstances,
  type CommitAttempt,
  firstAttempt,
} from './attempt.ts';
import { type AckOn, Batch } from './batch.ts';
import { BatchEncoder } from './encode.ts';
import type { BatchAnswers, Exchange } from './exchange.ts';
import type { ForeignWriters } from './foreignwriters.ts';
import type { Ownership } from './ownership.ts';
import { PreparedBatches } from './prepared.ts';
import { refusal } from './refusal.ts';

/** The result of an attempt. */
interface Sent {
  readonly batch: Batch;
  readonly answers: BatchAnswers;
}

export class Committer {
  readonly #exchange: Exchange;
  readonly #writers: ForeignWriters;
  readonly #ownership: Ownership;
  readonly #ack: AckOn;
  readonly #batch = new Batch();
  readonly #prepared = new PreparedBatches();

  constructor(exchange: Exchange, writers: ForeignWriters, ownership: Ownership, ack: AckOn) {
    this.#exchange = exchange;
    this.#writers = writers;
    this.#ownership = ownership;
    this.#ack = ack;
  }

  /**
   * Whether a commit may run on the event loop: only if it takes microseconds and no other process writes, which could
   * make it wait.
   */
  mayBlockLoop(ops: readonly Op[]): boolean {
    return isSmall(ops) && this.#writers.isQuiet();
  }

  /** Holds the event loop until it is done: see `mayBlockLoop`. */
  commitSync(ops: readonly Op[], expected?: Generation): Generation {
    const batch = this.#again(ops, expected);
    if (batch !== undefined) {
      if (isAccepted(this.#exchange.commitSync(batch)))
        return this.#writers.made(after(expected ?? this.#writers.known()));
      this.#writers.look();
    }
    const attempts = this.#attempts(ops, expected);
    for (let next = attempts.next(); ; next = attempts.next(this.#sendSync(next.value)))
      if (next.done) return next.value;
  }

  /** Never holds the event loop for long, however big the batch, and however long the kernel takes. */
  async commit(ops: readonly Op[], expected?: Generation): Promise<Generation> {
    const attempts = this.#attempts(ops, expected);
    try {
      for (let next = attempts.next(); ; next = attempts.next(await this.#send(next.value)))
        if (next.done) return next.value;
    } finally {
      this.#batch.release();
    }
  }

  /**
   * Sends the previous batch with other keys. If it is refused, it is made again in the usual way, which names the
   * operation.
   */
  #again(ops: readonly Op[], expected: Generation | undefined): Batch | undefined {
    if (this.#ownership.adoptable(ops).length > 0) return undefined;
    try {
      return this.#prepared.again(ops, this.#exchange.nextSequence, expected ?? this.#writers.known());
    } catch {
      return undefined;
    }
  }

  /** The batches to send, one by one, each after the answer to the one before. Throws KernelError. */
  *#attempts(
    ops: readonly Op[],
    expected: Generation | undefined,
  ): Generator<CommitAttempt, Generation, Sent> {
    const tables = this.#ownership.adoptable(ops);
    let locked = expected;
    if (tables.length > 0) {
      const generation = yield* this.#untilDone(adoption(tables, expected, this.#circumstances()));
      if (expected !== undefined) locked = generation;
    }
    if (ops.length === 0) return this.#unchanged(locked);
    return yield* this.#untilDone(firstAttempt(ops, locked, this.#circumstances()));
  }

  *#untilDone(first: CommitAttempt): Generator<CommitAttempt, Generation, Sent> {
    for (let attempt = first; ; ) {
      const { batch, answers } = yield attempt;
      if (!isAccepted(answers)) this.#writers.look();
      const refused = answers.errors.length > 0 ? refusal(answers.errors, batch, attempt) : undefined;
      const outcome = attemptOutcome(attempt, answers, refused, this.#circumstances());
      if (outcome.kind === 'failed') throw outcome.error;
      if (outcome.kind === 'again') attempt = outcome.attempt;
      else {
        this.#ownership.committed(attempt.ops, attempt.tables);
        return outcome.kind === 'made' ? this.#writers.made(outcome.generation) : this.#writers.look();
      }
    }
  }

  #sendSync(attempt: CommitAttempt): Sent {
    const batch = this.#prepared.encode(attempt);
    return { batch, answers: this.#exchange.commitSync(batch) };
  }

  async #send(attempt: CommitAttempt): Promise<Sent> {
    const slices = new EventLoopYield();
    const encoder = new BatchEncoder(this.#batch, attempt);
    while (encoder.encode()) if (slices.isOver) await slices.rest();
    return { batch: this.#batch, answers: await this.#exchange.commit(this.#batch) };
  }

  #circumstances(): Circumstances {
    return {
      generation: this.#writers.known(),
      nextSequence: this.#exchange.nextSequence,
      existing: this.#ownership.existing,
      ack: this.#ack,
      tableFlags: this.#ownership.tableFlags,
    };
  }

  #unchanged(expected: Generation | undefined): Generation {
    const generation = this.#writers.look();
    if (expected === undefined || expected === generation) return generation;
    throw new KernelError(
      'ERESTART',
      'ERESTART: an empty batch: another process changed the rules meanwhile',
    );
  }
}

function isAccepted({ acknowledged, errors }: BatchAnswers): boolean {
  return acknowledged && errors.length === 0;
}

const MAX_OPS = 16;
const MAX_ELEMENTS = 64;

/**
 * Whether a batch commits in microseconds whatever else the tables have: only members of hash sets do. For rules, and
 * for elements with a verdict, the kernel walks the whole table; for intervals it sorts the whole set; whole sets or
 * chains may be large.
 */
function isSmall(ops: readonly Op[]): boolean {
  return ops.length <= MAX_OPS && ops.every(isSmallOp);
}

function isSmallOp(op: Op): boolean {
  switch (op.op) {
    case 'addElements':
      return op.elements.length <= MAX_ELEMENTS && !op.set.interval && !op.set.verdicts;
    case 'delElements':
      return op.keys.length <= MAX_ELEMENTS && !op.set.interval;
    default:
      return false;
  }
}
