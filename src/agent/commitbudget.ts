/**
 * A budget of commits. At more than about ten a second, sustained, nobody else on the node can list the ruleset
 * any more (measured: their dump restarts whenever the generation moves), so bursts are served at once and then
 * the rate is held.
 *
 *     level  5 ┬ a commit costs 1, ten come back each second
 *            0 ┼ below it, only what somebody waits for goes at once, and what has waited for long
 *           -5 ┼ below it, only policies that tighten, of namespaces that have done so seldom
 *          -10 ┴ below it nothing goes: so there is never a debt of more than a second
 *
 * Whatever goes takes everything along that is pending, so that nobody starves by those who may go further.
 */
import type { Rate } from '../lib/fairness/tokenbucket.ts';

/** How far beyond the budget a change may go: not at all, as far as a pod that waits, or as what tightens. */
export type Haste = 'none' | 'urgent' | 'tightening';

export interface CommitLimits extends Rate {
  /** Commits beyond the burst that changes may have in advance. */
  readonly reserve: Readonly<Record<Haste, number>>;
  /** What has waited for so long goes like what is urgent. */
  readonly mostWaitMs: number;
}

export const COMMIT_LIMITS: CommitLimits = {
  burst: 5,
  perSecond: 10,
  reserve: { none: 0, urgent: 5, tightening: 10 },
  mostWaitMs: 100,
};

/** For how many milliseconds a commit must wait, of changes of which the oldest is `ageMs` old. */
export function waitMs(level: number, haste: Haste, ageMs: number, limits: CommitLimits): number {
  const { perSecond, reserve, mostWaitMs } = limits;
  const untilMs = (as: Haste) => Math.max(0, ((1 - reserve[as] - level) / perSecond) * 1000);
  return Math.min(untilMs(haste), Math.max(untilMs('urgent'), mostWaitMs - ageMs));
}
