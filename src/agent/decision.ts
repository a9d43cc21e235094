/** When the next round of the loop begins, and why: pure, so that every case is a line of a test. */
import { type BucketLimits, waitMs } from './bucket.ts';
import type { Cause } from './committed.ts';

export interface Situation {
  readonly nowMs: number;
  /** The round that failed and is to be tried again, and when. */
  readonly retry?: { readonly cause: Cause; readonly atMs: number };
  /** Since when a change is pending. */
  readonly pendingSinceMs?: number;
  /** When something is to be done that waits for its turn. */
  readonly deferredAtMs?: number;
  /** Somebody waits for one of them. */
  readonly urgent: boolean;
  /** When the kernel is to be looked at although nothing is pending. */
  readonly lookAtMs: number;
  /** Of the budget of commits. */
  readonly level: number;
  readonly limits: BucketLimits;
}

export type Decision =
  | { readonly kind: 'start'; readonly cause: Cause }
  | { readonly kind: 'wait'; readonly ms: number };

export function decide(situation: Situation): Decision {
  const { nowMs, retry, lookAtMs, deferredAtMs = Number.POSITIVE_INFINITY } = situation;
  if (retry !== undefined) return startOrWait(retry.cause, retry.atMs - nowMs);
  const pendingSinceMs = situation.pendingSinceMs ?? deferredAtMs;
  if (pendingSinceMs <= nowMs) return startOrWait('change', budgetMs(situation, pendingSinceMs));
  if (nowMs < lookAtMs) return { kind: 'wait', ms: Math.min(lookAtMs, deferredAtMs) - nowMs };
  return startOrWait('look', budgetMs(situation, lookAtMs));
}

function budgetMs({ nowMs, urgent, level, limits }: Situation, sinceMs: number): number {
  return waitMs(level, urgent, nowMs - sinceMs, limits);
}

function startOrWait(cause: Cause, ms: number): Decision {
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'start', cause };
}
