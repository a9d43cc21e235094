/** Which of the changes that wait are to be made ready for their batch (compiler/live/preparations.ts). */
import type { PolicyChange } from '../../model/policychange.ts';
import { isSmallChange, type Pending } from './pending.ts';
import { partition, precedence } from './shares.ts';

/** Whether a change costs a batch no more than it says itself: how many its peers are, the cluster tells. */
export type IsReady = (change: PolicyChange) => boolean;

export const ALL_READY: IsReady = () => true;

/** How many pods of the cluster have to be asked for a change, if nothing of it is ready. */
export type Asks = (change: PolicyChange) => number;

export const ASKS_NOBODY: Asks = () => 0;

/**
 * Large ones that are ready stay so, and of each other namespace the next one is to become it: what is in force when it is
 * taken in is what it was made ready for.
 */
export function toPrepare(all: readonly Pending[], nowMs: number, isReady: IsReady): PolicyChange[] {
  const large = all.filter(pending => !isSmallChange(pending));
  const [ready, others] = partition(large, isReady);
  const isServed = new Set(ready.map(({ namespace }) => namespace));
  const waiting = others.filter(({ namespace }) => !isServed.has(namespace));
  const groups = [...Map.groupBy(waiting, ({ namespace }) => namespace).values()];
  const next = groups.map(group => group.sort((a, b) => precedence(a, b, nowMs))[0]!);
  return [...ready, ...next].map(({ id, value }) => ({ id, value }));
}
