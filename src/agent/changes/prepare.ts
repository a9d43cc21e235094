/** Which of the policies that wait are to be made ready for their batch (compiler/live/preparations.ts). */
import type { Policy } from '../../model/policy.ts';
import { isSmallChange, type Pending } from './pending.ts';
import { partition, precedence } from './shares.ts';

/** Whether a policy costs a batch no more than it says itself: how many its peers are, the cluster tells. */
export type IsReady = (policy: Policy) => boolean;

export const ALL_READY: IsReady = () => true;

/** Large ones that are ready stay so, and of each namespace the next one is to become it. */
export function toPrepare(all: readonly Pending[], nowMs: number, isReady: IsReady): Policy[] {
  const large = all.filter(
    (pending): pending is Pending & { value: Policy } =>
      pending.value !== undefined && !isSmallChange(pending),
  );
  const [ready, others] = partition(large, ({ value }) => isReady(value));
  const groups = [...Map.groupBy(others, ({ namespace }) => namespace).values()];
  const next = groups.map(group => group.sort((a, b) => precedence(a, b, nowMs))[0]!);
  return [...ready, ...next].map(({ value }) => value);
}
