/**
 * Decides what to send for a commit, and how to interpret the answer. It works on values alone, so that a test can
 * supply any answer. The kernel does not say which generation a batch made. It follows from the generation to which the
 * batch was locked, or an echo has it.
 */
import { type Generation, KernelError } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import type { AckOn } from './batch.ts';
import type { Draft, ExistingTable } from './encode.ts';
import type { BatchAnswers } from './exchange.ts';

const ATTEMPTS = 100;
const LOCKED_ATTEMPTS = 3;
const NO_LOCK = 0;

/** A batch to be sent. */
export interface CommitAttempt extends Draft {
  /** Whether the caller expects a generation; if not, the lock is our own choice, and may be renewed. */
  readonly expecting: boolean;
  /** The generation before ours. */
  readonly before: Generation;
  readonly number: number;
}

/** The circumstances in which a commit is made. */
export interface Circumstances {
  /** The last known generation. */
  readonly generation: Generation;
  readonly nextSequence: number;
  /** Tables of ours that can be named to ask for an echo. */
  readonly existing: readonly ExistingTable[];
  readonly ack: AckOn;
  readonly tableFlags: number;
}

export type AttemptOutcome =
  | { readonly kind: 'made'; readonly generation: Generation }
  /** The kernel had all of it already. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'again'; readonly attempt: CommitAttempt }
  | { readonly kind: 'failed'; readonly error: KernelError };

/**
 * Adopts tables without an owner, and does nothing else: in the batch that gives a table its owner the kernel refuses
 * new base chains (EINVAL), so that a layout with another hook could not be programmed.
 */
export function adoption(
  tables: readonly ExistingTable[],
  expected: Generation | undefined,
  circumstances: Circumstances,
): CommitAttempt {
  return { ...plainAttempt([], expected, circumstances), tables };
}

export function firstAttempt(
  ops: readonly Op[],
  expected: Generation | undefined,
  circumstances: Circumstances,
): CommitAttempt {
  const attempt = plainAttempt(ops, expected, circumstances);
  return mayChangeNothing(ops) ? (echoing(attempt, circumstances.existing) ?? attempt) : attempt;
}

/**
 * `refusal` is the reason for which the kernel refused the batch, if it did; `circumstances` are those after the
 * answer.
 */
export function attemptOutcome(
  attempt: CommitAttempt,
  answers: BatchAnswers,
  refusal: KernelError | undefined,
  circumstances: Circumstances,
): AttemptOutcome {
  if (refusal === undefined && answers.acknowledged) {
    // An echo has our generation; the lock has the one before it, even if another process commits right after us.
    if (attempt.echo && answers.generation === undefined) return { kind: 'unchanged' };
    return { kind: 'made', generation: answers.generation ?? after(attempt.before) };
  }
  const error = refusal ?? lost(attempt, answers, circumstances.generation);
  const next = nextAttempt(attempt, error.code, circumstances);
  return next === undefined ? { kind: 'failed', error } : { kind: 'again', attempt: next };
}

/** `nf_tables_commit` leaves out zero, which means no lock. */
export function after(generation: Generation): Generation {
  return generation === 0xffffffff ? 1 : generation + 1;
}

function plainAttempt(
  ops: readonly Op[],
  expected: Generation | undefined,
  { generation, nextSequence, ack, tableFlags }: Circumstances,
): CommitAttempt {
  const before = expected ?? generation;
  return {
    ops,
    expected: before,
    expecting: expected !== undefined,
    before,
    tables: [],
    echo: false,
    // A batch of elements that all exist makes no generation. One that is refused if any of them exists does.
    additions: ops.every(isAddition) ? 'new' : 'any',
    firstSequence: nextSequence,
    ack,
    tableFlags,
    number: 1,
  };
}

/** ENOBUFS means that answers were lost; whether the batch was committed follows from the generation. */
function lost({ ops, before }: CommitAttempt, { overrun }: BatchAnswers, now: Generation): KernelError {
  const code = overrun ? 'ENOBUFS' : 'EIO';
  const fate = now === before ? 'nothing was changed' : 'it may be in force: read the tables again';
  return new KernelError(code, `${code}: a batch of ${ops.length} changes: the answer was lost; ${fate}`);
}

/** Undefined where another attempt is of no use. */
function nextAttempt(
  attempt: CommitAttempt,
  code: string,
  { generation, nextSequence, existing }: Circumstances,
): CommitAttempt | undefined {
  const numbered = { ...attempt, firstSequence: nextSequence, number: attempt.number + 1 };
  // An element exists, perhaps with the same verdict: then it is not known beforehand whether there is a change.
  if (code === 'EEXIST' && attempt.additions === 'new')
    return echoing({ ...numbered, additions: 'any' }, existing);
  if (code !== 'ERESTART' || attempt.expecting || attempt.number === ATTEMPTS) return undefined;
  const relocked = { ...numbered, before: generation, expected: generation };
  // If another process writes without pause, no locked attempt succeeds; the caller did not ask for a lock.
  if (attempt.number < LOCKED_ATTEMPTS) return relocked;
  return echoing({ ...relocked, expected: NO_LOCK }, existing) ?? relocked;
}

/** The attempt with an echo; undefined where no table of ours exists to ask for it. */
function echoing(attempt: CommitAttempt, existing: readonly ExistingTable[]): CommitAttempt | undefined {
  const tables = attempt.tables.length > 0 ? attempt.tables : existing.slice(0, 1);
  return tables.length === 0 ? undefined : { ...attempt, tables, echo: true };
}

/** A flush of an empty chain makes no generation; nor does an element that exists, where additions are not `new`. */
function mayChangeNothing(ops: readonly Op[]): boolean {
  let flushes = false;
  for (const op of ops) {
    if (op.op === 'flushChain') flushes = true;
    else if (!isAddition(op)) return false;
  }
  return flushes;
}

function isAddition({ op }: Op): boolean {
  return op === 'addElements';
}
