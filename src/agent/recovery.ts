/** What becomes of a round that failed: pure, so that every case is a line of a test. */
import { type Backoff, backoffMs } from '../lib/async/backoff.ts';
import { KernelError } from '../nft/kernel.ts';
import type { RoundCause } from './committed.ts';
import { isSocketBroken } from './socketbroken.ts';

export interface RoundFailure {
  readonly error: unknown;
  readonly cause: RoundCause;
  /** With this one. */
  readonly failuresInARow: number;
  /** The engine in use was made anew, and has not proved itself yet. */
  readonly engineUnproven: boolean;
  /** Whether to wait on for another owner of the tables: our predecessor may be about to end. */
  readonly patient: boolean;
}

export type Recovery =
  /** There is none: the error ends the agent, with the rules in force. */
  | { readonly kind: 'give up' }
  /** Somebody else owns the tables, for a moment perhaps. */
  | { readonly kind: 'wait for owner'; readonly afterMs: number }
  /** A broken invariant: what we know may be wrong, so nothing of it is kept but the cluster itself. */
  | { readonly kind: 'start from scratch' }
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      readonly reopenSocket: boolean;
      readonly renewEngine: boolean;
    };

const RETRY: Backoff = { firstMs: 100, mostMs: 5_000 };
/** Which failure in a row casts doubt on the engine, and on the socket. */
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
