/**
 * Changes of a namespace's policies that are made ready as one, and taken in as one: its classes are made once for all of
 * them.
 */
import type { Policy, PolicyId } from '../../../model/policy.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import { countEntries } from '../../../model/policysize.ts';

export type Together = ReadonlyMap<PolicyId, Policy | undefined>;

/** In entries, and one for each change: they are taken in by one flush. */
const MOST = 1_000;

/**
 * Those that are next, where `waiting` are left of the namespace, the first ones first. Of those `before` all stay of which
 * no other version has come: such a one waits for the next turn, and whoever edits a policy without end keeps nobody else
 * waiting. The same object where all stay.
 */
export function nextTogether(waiting: readonly PolicyChange[], before: Together | undefined): Together {
  if (before !== undefined) {
    const left = waiting.filter(change => isAmong(before, change));
    if (left.length === before.size) return before;
    if (left.length > 0) return togetherOf(left);
  }
  return togetherOf(firstOf(waiting));
}

/** In that very version. */
export function isAmong(together: Together, { id, value }: PolicyChange): boolean {
  return together.has(id) && together.get(id) === value;
}

export function changesTogether(together: Together): PolicyChange[] {
  return [...together].map(([id, value]) => ({ id, value }));
}

function togetherOf(changes: readonly PolicyChange[]): Together {
  return new Map(changes.map(({ id, value }) => [id, value]));
}

/** The first one in any case. */
function firstOf(changes: readonly PolicyChange[]): PolicyChange[] {
  let sum = 0;
  return changes.filter(({ value }, at) => {
    sum += 1 + (value === undefined ? 0 : countEntries(value));
    return at === 0 || sum <= MOST;
  });
}
