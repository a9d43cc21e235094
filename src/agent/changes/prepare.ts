/** Which of the changes that wait are to be made ready for their batch (compiler/live/preparations/preparations.ts). */
import type { PolicyChange } from '../../model/policychange.ts';
import type { Pending } from './pending.ts';
import { partition, precedence } from './shares.ts';

/** Whether a change costs a batch no more than it says itself: how many its peers are, the cluster tells. */
export type IsReady = (change: PolicyChange) => boolean;

export const ALL_READY: IsReady = () => true;

/** What is known of changes before they are taken in. */
export interface Foresight {
  /** How many pods of the cluster have to be asked for a change, if nothing of it is ready. */
  asks(change: PolicyChange): number;
  /** Whether changes of that namespace's policies are made ready and taken in together, however small. */
  isCrowded(namespace: string): boolean;
}

export const NOTHING_FORESEEN: Foresight = { asks: () => 0, isCrowded: () => false };

/**
 * Those that are ready stay so, and of each other namespace the next one is to become it: what is in force when it is
 * taken in is what it was made ready for. Of a crowded one all wait for their turn, and some of them become it together.
 */
export function toPrepare(
  large: readonly Pending[],
  nowMs: number,
  isReady: IsReady,
  { isCrowded }: Foresight,
): PolicyChange[] {
  const [ready, others] = partition(large, isReady);
  const isServed = new Set(ready.map(({ namespace }) => namespace));
  const waiting = others.filter(({ namespace }) => !isServed.has(namespace));
  const next = [...Map.groupBy(waiting, ({ namespace }) => namespace)].flatMap(([namespace, its]) => {
    const inTurn = its.sort((a, b) => precedence(a, b, nowMs));
    return isCrowded(namespace) ? inTurn : inTurn.slice(0, 1);
  });
  return [...ready, ...next].map(({ id, value }) => ({ id, value }));
}
