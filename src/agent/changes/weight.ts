/** How much work a policy is to compile and to program. */
import type { Policy } from '../../model/policy.ts';
import { countEntries } from '../../model/policysize.ts';

/** To ask so many pods whether they are peers costs as much as an entry. */
const ASKED_AS_ENTRY = 20;

export function weightOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}

/** Of a change for which so many pods of the cluster are asked. */
export function weightOfAsking(pods: number): number {
  return Math.floor(pods / ASKED_AS_ENTRY);
}
