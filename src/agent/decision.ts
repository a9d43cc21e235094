/** When the next round of the loop begins, and why: pure, so that every case is a line of a test. */
import { type CommitLimits, type Haste, waitMs } from './commitbudget.ts';
import type { RoundCause } from './committed.ts';

/** A change that is to be committed. */
export interface WaitingChange {
  /** From when on it may go, as far as it depends on others of its kind. */
  readonly atMs: number;
  /** Since when it has been able to. */
  readonly sinceMs: number;
  readonly haste: Haste;
}

export interface Situation {
  readonly nowMs: number;
  /** The round that failed and is to be tried again, and when. */
  readonly retry?: { readonly cause: RoundCause; readonly atMs: number };
  readonly waiting: readonly WaitingChange[];
  /** When the kernel is to be looked at although nothing is pending. */
  readonly lookAtMs: number;
  /** Of the budget of commits. */
  readonly level: number;
  readonly limits: CommitLimits;
}

export type RoundDecision =
  | { readonly kind: 'start'; readonly cause: RoundCause }
  | { readonly kind: 'wait'; readonly ms: number };

export function decide(situation: Situation): RoundDecision {
  const { nowMs, retry, lookAtMs, waiting } = situation;
  if (retry !== undefined) return startOrWait(retry.cause, retry.atMs - nowMs);
  const ready = waiting.filter(({ atMs }) => atMs <= nowMs);
  if (ready.length > 0)
    return startOrWait('change', Math.min(...ready.map(change => budgetMs(situation, change))));
  const nextMs = Math.min(lookAtMs, ...waiting.map(({ atMs }) => atMs));
  if (nowMs < nextMs) return { kind: 'wait', ms: nextMs - nowMs };
  return startOrWait('look', budgetMs(situation, { sinceMs: lookAtMs, haste: 'none' }));
}

function budgetMs(
  { nowMs, level, limits }: Situation,
  { sinceMs, haste }: Pick<WaitingChange, 'sinceMs' | 'haste'>,
): number {
  return waitMs(level, haste, nowMs - sinceMs, limits);
}

function startOrWait(cause: RoundCause, ms: number): RoundDecision {
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'start', cause };
}
