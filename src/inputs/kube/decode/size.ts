import { type Budget, tooManyEntries } from '../../../model/budget.ts';
import type { Field } from './fields.ts';

/** What is wrong with a spec that has more entries than a policy may have; found without reading any of them. */
export function sizeProblem(spec: Field, budget: Budget): string | undefined {
  const left = ['ingress', 'egress'].reduce(
    (room, key) => countDown(spec.get(key).value, room, MOST_LEVELS),
    budget.entries,
  );
  return left < 0 ? tooManyEntries(undefined, budget) : undefined;
}

/** Whether a selector has more requirements and values than that; found without reading any of them. */
export function isLargerThan(selector: Field, most: number): boolean {
  return countDown(selector.value, most, MOST_LEVELS) < 0;
}

/** From a list of rules down to the values of a requirement. */
const MOST_LEVELS = 12;

/** What is left of `room` when each item of each list, and each label, has taken one; below zero it ends at once. */
function countDown(value: unknown, room: number, levels: number, areLabels = false): number {
  if (typeof value !== 'object' || value === null || levels === 0) return room;
  const isCounted = areLabels || Array.isArray(value);
  let left = room;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (isCounted && --left < 0) return left;
    left = countDown((value as Record<PropertyKey, unknown>)[key], left, levels - 1, key === 'matchLabels');
  }
  return left;
}
