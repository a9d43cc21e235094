/** How much work a policy is to compile and to program. */
import type { Policy } from '../../model/policy.ts';
import { ASKED_AS_ENTRY, countEntries } from '../../model/policysize.ts';

export function weightOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}

/** Of a change for which so many pods of the cluster are asked. */
export function weightOfAsking(pods: number): number {
  return Math.floor(pods / ASKED_AS_ENTRY);
}
