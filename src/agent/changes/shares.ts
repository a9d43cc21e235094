/** Who goes first, and how much of what waits one batch takes. */
import { FAIRNESS } from './fairness.ts';
import type { Pending } from './pending.ts';

/** Of each namespace what it may have in a batch; those that want the least come first. */
export function ofEveryNamespace<P extends Pending>(small: readonly P[], nowMs: number): P[] {
  const groups = [...Map.groupBy(small, ({ namespace }) => namespace).values()].map(group =>
    ofOneNamespace(group, nowMs),
  );
  const oldest = (group: readonly Pending[]) => Math.min(...group.map(({ sinceMs }) => sinceMs));
  const isLateGroup = (group: readonly Pending[]) => nowMs - oldest(group) > FAIRNESS.patienceMs;
  groups.sort(
    (a, b) => Number(isLateGroup(b)) - Number(isLateGroup(a)) || sumOf(a) - sumOf(b) || oldest(a) - oldest(b),
  );
  let sum = 0;
  const isWithin = (group: readonly Pending[]) => {
    sum += sumOf(group);
    return sum <= FAIRNESS.batch || sum === sumOf(group);
  };
  return groups.filter(isWithin).flat();
}

export function ofOneNamespace<P extends Pending>(its: readonly P[], nowMs: number): P[] {
  return withinWeight(its.toSorted((a, b) => precedence(a, b, nowMs)));
}

function sumOf(group: readonly Pending[]): number {
  return group.reduce((sum, { weight }) => sum + weight, 0);
}

export function partition<T>(values: Iterable<T>, isFirst: (value: T) => boolean): [T[], T[]] {
  const [first, second]: [T[], T[]] = [[], []];
  for (const value of values) (isFirst(value) ? first : second).push(value);
  return [first, second];
}

/** What has waited for too long, then what tightens, then what came first. */
export function precedence(a: Pending, b: Pending, nowMs: number): number {
  return (
    Number(isLate(b, nowMs)) - Number(isLate(a, nowMs)) ||
    Number(b.tightens) - Number(a.tightens) ||
    a.sinceMs - b.sinceMs
  );
}

export function isLate({ sinceMs }: Pending, nowMs: number): boolean {
  return nowMs - sinceMs > FAIRNESS.patienceMs;
}

/** The first in any case. */
function withinWeight<P extends Pending>(pending: readonly P[]): P[] {
  let sum = 0;
  return pending.filter(({ weight }, at) => {
    sum += weight;
    return at === 0 || sum <= FAIRNESS.turn;
  });
}
