/** Puts batches into force, one at a time, and finds out the generation that each made. */
import { type Generation, KernelError } from '../../nft/kernel.ts';
import type { Op } from '../../nft/plan/op.ts';
import { EventLoopYield } from '../wire/eventloopyield.ts';
import type { Answers, Exchange } from '../wire/exchange.ts';
import { type AckOn, Batch } from './batch.ts';
import { BatchEncoder, type Draft } from './encode.ts';
import type { ForeignWriters } from './foreignwriters.ts';
import type { Ownership } from './ownership.ts';
import { PreparedBatches } from './prepared.ts';
import { refusal } from './refusal.ts';
import { isSmall } from './small.ts';

const ATTEMPTS = 100;
const LOCKED_ATTEMPTS = 3;
const NO_LOCK = 0;

/** A batch on its way. */
interface Attempt extends Draft {
  /** Whether the caller expects a generation; else the lock is ours, and may be taken anew. */
  readonly expecting: boolean;
  /** The generation before ours. */
  readonly before: Generation;
  readonly number: number;
}

export class Committer {
  readonly #exchange: Exchange;
  readonly #quiet: ForeignWriters;
  readonly #ownership: Ownership;
  readonly #ack: AckOn;
  readonly #batch = new Batch();
  readonly #prepared = new PreparedBatches();

  constructor(exchange: Exchange, quiet: ForeignWriters, ownership: Ownership, ack: AckOn) {
    this.#exchange = exchange;
    this.#quiet = quiet;
    this.#ownership = ownership;
    this.#ack = ack;
  }

  /** Only what is over in microseconds, and only where nobody is about who could make us wait. */
  mayBlockLoop(ops: readonly Op[]): boolean {
    return isSmall(ops) && this.#quiet.isQuiet();
  }

  /** Holds the event loop until it is done: see `mayBlockLoop`. */
  commitSync(ops: readonly Op[], expected?: Generation): Generation {
    const batch = this.#again(ops, expected);
    if (batch === undefined) return this.#commitSync(this.#first(ops, expected));
    const answers = this.#exchange.commitSync(batch);
    if (!isAccepted(answers)) return this.#commitSync(this.#next(this.#first(ops, expected), batch, answers));
    const generation = after(expected ?? this.#quiet.known());
    this.#quiet.made(generation);
    return generation;
  }

  #again(ops: readonly Op[], expected: Generation | undefined): Batch | undefined {
    if (this.#ownership.adoptable(ops).length > 0) return undefined;
    try {
      return this.#prepared.again(ops, this.#exchange.nextSequence, expected ?? this.#quiet.known());
    } catch {
      return undefined; // what cannot be encoded is named where the batch is made anew
    }
  }

  #commitSync(first: Attempt): Generation {
    if (isEmpty(first)) return this.#unchanged(first);
    for (let attempt = first; ; ) {
      const batch = this.#prepared.encode(attempt);
      const answers = this.#exchange.commitSync(batch);
      if (isAccepted(answers)) return this.#made(attempt, answers);
      attempt = this.#next(attempt, batch, answers);
    }
  }

  /** Never holds the event loop for long, however big the batch, and however long the kernel takes. */
  async commit(ops: readonly Op[], expected?: Generation): Promise<Generation> {
    try {
      return await this.#commit(ops, expected);
    } finally {
      this.#batch.release();
    }
  }

  async #commit(ops: readonly Op[], expected: Generation | undefined): Promise<Generation> {
    let attempt = this.#first(ops, expected);
    if (isEmpty(attempt)) return this.#unchanged(attempt);
    for (;;) {
      const slices = new EventLoopYield();
      const encoder = new BatchEncoder(this.#batch, attempt);
      while (encoder.encode()) if (slices.over) await slices.rest();
      const answers = await this.#exchange.commit(this.#batch);
      if (isAccepted(answers)) return this.#made(attempt, answers);
      attempt = this.#next(attempt, this.#batch, answers);
    }
  }

  #first(ops: readonly Op[], expected: Generation | undefined): Attempt {
    const before = expected ?? this.#quiet.known();
    const tables = this.#ownership.adoptable(ops);
    const attempt: Attempt = {
      ops,
      expected: before,
      expecting: expected !== undefined,
      before,
      tables,
      echo: false,
      // A batch of elements that all stand makes no generation. One that is refused if any of them stands does.
      additions: tables.length === 0 && ops.every(isAddition) ? 'new' : 'any',
      firstSequence: this.#exchange.nextSequence,
      ack: this.#ack,
      tableFlags: this.#ownership.tableFlags,
      number: 1,
    };
    return mayChangeNothing(ops) ? (this.#echoing(attempt) ?? attempt) : attempt;
  }

  /** Throws where another attempt is of no use. */
  #next(attempt: Attempt, batch: Batch, answers: Answers): Attempt {
    const now = this.#quiet.look();
    const error = failure(answers, batch, attempt, now);
    const numbered = { ...attempt, firstSequence: this.#exchange.nextSequence, number: attempt.number + 1 };
    // An element stands, perhaps with the same verdict: then it is not known beforehand whether there is a change.
    if (error.code === 'EEXIST' && attempt.additions === 'new')
      return this.#echoing({ ...numbered, additions: 'any' }) ?? raise(error);
    if (error.code !== 'ERESTART' || attempt.expecting || attempt.number === ATTEMPTS) throw error;
    const relocked = { ...numbered, before: now, expected: now };
    // Against a writer who never pauses no lock is ever won, and nobody asked for one.
    if (attempt.number < LOCKED_ATTEMPTS) return relocked;
    return this.#echoing({ ...relocked, expected: NO_LOCK }) ?? relocked;
  }

  /** The attempt with an echo; undefined where no table of ours stands to ask for it. */
  #echoing(attempt: Attempt): Attempt | undefined {
    const tables = attempt.tables.length > 0 ? attempt.tables : this.#ownership.standing().slice(0, 1);
    return tables.length === 0 ? undefined : { ...attempt, tables, echo: true };
  }

  #unchanged({ expecting, expected }: Attempt): Generation {
    const generation = this.#quiet.look();
    if (!expecting || expected === generation) return generation;
    throw new KernelError('ERESTART', 'ERESTART: an empty batch: somebody else changed the rules meanwhile');
  }

  /** An echo tells our generation, and the lock the one before: even if somebody else's follows at once. */
  #made(attempt: Attempt, answers: Answers): Generation {
    this.#ownership.committed(attempt.ops, attempt.tables);
    if (attempt.echo && answers.generation === undefined) return this.#quiet.look(); // there was nothing to change
    const generation = answers.generation ?? after(attempt.before);
    this.#quiet.made(generation);
    return generation;
  }
}

/** `nf_tables_commit` leaves out zero, which means no lock. */
function after(generation: Generation): Generation {
  return generation === 0xffffffff ? 1 : generation + 1;
}

function failure(answers: Answers, batch: Batch, { ops, before }: Attempt, now: Generation): KernelError {
  if (answers.errors.length > 0) return refusal(answers.errors, batch, ops);
  // ENOBUFS says that answers were lost, not what became of the batch; the generation does.
  const code = answers.overrun ? 'ENOBUFS' : 'EIO';
  const fate = now === before ? 'nothing was changed' : 'it may be in force: read the tables again';
  return new KernelError(code, `${code}: a batch of ${ops.length} changes: the answer was lost; ${fate}`);
}

function isAccepted({ acknowledged, errors }: Answers): boolean {
  return acknowledged && errors.length === 0;
}

function isEmpty({ ops, tables }: Draft): boolean {
  return ops.length === 0 && tables.length === 0;
}

function raise(error: KernelError): never {
  throw error;
}

/** A flush of an empty chain makes no generation; nor does an element that stands, where additions are not `new`. */
function mayChangeNothing(ops: readonly Op[]): boolean {
  return (
    ops.some(({ op }) => op === 'flushChain') && ops.every(op => op.op === 'flushChain' || isAddition(op))
  );
}

function isAddition({ op }: Op): boolean {
  return op === 'addElements';
}
