/** Decides what the agent does after a failed round. It is pure, so each case is one line of a test. */
import { type Backoff, backoffMs } from '../lib/async/backoff.ts';
import { KernelError } from '../nft/kernel.ts';
import type { RoundCause } from './committed.ts';

export interface RoundFailure {
  readonly error: unknown;
  readonly cause: RoundCause;
  /** Including this failure. */
  readonly failuresInARow: number;
  /** Whether the engine in use was replaced after a failure, and has not had a successful round yet. */
  readonly engineUnproven: boolean;
  /** Whether to wait on for another owner of the tables: our predecessor may be about to end. */
  readonly patient: boolean;
}

export type Recovery =
  /** There is none: the error ends the agent, with the rules in force. */
  | { readonly kind: 'give up' }
  /** Another process owns the tables, for a moment perhaps. */
  | { readonly kind: 'wait for owner'; readonly afterMs: number }
  /** A broken invariant: our state may be wrong, so only the cluster itself is kept. */
  | { readonly kind: 'start from scratch' }
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      readonly reopenSocket: boolean;
      readonly renewEngine: boolean;
    };

const RETRY: Backoff = { firstMs: 100, mostMs: 5_000 };
/** From this failure in a row on, the engine and the socket are suspected. */
const SUSPICIOUS = 2;

export function recoveryFrom({ error, cause, failuresInARow, ...state }: RoundFailure): Recovery {
  if (!(error instanceof KernelError))
    return state.engineUnproven ? { kind: 'give up' } : { kind: 'start from scratch' };
  if (cause === 'start' && error.code === 'EPERM')
    return state.patient ? { kind: 'wait for owner', afterMs: RETRY.firstMs } : { kind: 'give up' };
  return {
    kind: 'retry',
    afterMs: backoffMs(RETRY, failuresInARow),
    reopenSocket: isSocketBroken(error) || failuresInARow >= SUSPICIOUS,
    renewEngine: failuresInARow === SUSPICIOUS,
  };
}

/** Whether policies may be to blame for a batch that failed: pure, so that every case is a line of a test. */
export interface Suspicion {
  readonly error: unknown;
  /** The batch was made to try policies: it held nothing else that is new. */
  readonly isTrial: boolean;
  /** The batch was made to show that all is well without suspects. */
  readonly isSettling: boolean;
  /** The kernel named an object of a policy that changed with the batch. */
  readonly isExplained: boolean;
  /** Attempts that failed in a row before this one. */
  readonly failuresBefore: number;
}

/**
 * Errors that the kernel always answers to a particular operation. Every other error of an operation counts as such
 * too, apart from those in the sets below.
 */
const CONTENT: ReadonlySet<string> = new Set([
  'E2BIG',
  'EFBIG',
  'EINVAL',
  'EMSGSIZE',
  'ENAMETOOLONG',
  'EOPNOTSUPP',
  'EOVERFLOW',
  'ERANGE',
]);
/**
 * Errors of operations that the kernel also answers if our view of its state is wrong or if it lacks a resource: these
 * causes are handled first.
 */
const STATE: ReadonlySet<string> = new Set([
  'EBUSY',
  'EEXIST',
  'ELOOP',
  'EMLINK',
  'ENFILE',
  'ENOENT',
  'ENOMEM',
  'ENOSPC',
]);
/** Another process owns the tables. */
const OWNED = 'EPERM';
/** After this many failures the tables were dumped, and engine and socket were replaced. */
const DOUBTS = 3;

export function isPolicyFault({
  error,
  isTrial,
  isSettling,
  isExplained,
  failuresBefore,
}: Suspicion): boolean {
  const isCertain = isTrial || isSettling || isExplained;
  if (!(error instanceof KernelError)) return isTrial || isSettling || failuresBefore >= 1;
  if (STATE.has(error.code)) return isTrial || isSettling || failuresBefore >= DOUBTS;
  return isOfContent(error) && (isCertain || failuresBefore >= 1);
}

/**
 * The kernel has more reasons to refuse an operation than are listed here; in each case the policy behind it must not
 * stop all others.
 */
function isOfContent({ code, op }: KernelError): boolean {
  return CONTENT.has(code) || (op !== undefined && code !== OWNED);
}

/**
 * Errors that the kernel answers to a whole batch or dump. Every error that is neither one of these nor about a single
 * operation is about the socket.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  'E2BIG',
  'EAGAIN',
  'EBUSY',
  'EEXIST',
  'EFBIG',
  'EINVAL',
  'ELOOP',
  'EMLINK',
  'EMSGSIZE',
  'ENAMETOOLONG',
  'ENFILE',
  'ENOENT',
  'ENOMEM',
  'ENOSPC',
  'EOPNOTSUPP',
  'EOVERFLOW',
  'EPERM',
  'ERANGE',
  'ERESTART',
]);

/** Whether the socket may be of no use any more: closed, broken, or out of step with its answers. */
function isSocketBroken({ code, op }: KernelError): boolean {
  return op === undefined && !REFUSALS.has(code);
}
