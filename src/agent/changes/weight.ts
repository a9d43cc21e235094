/** How much work a policy is to compile and to program. */
import type { Policy } from '../../model/policy.ts';
import { countEntries } from '../../model/policysize.ts';

/** To ask so many pods whether they are peers costs as much as an entry. */
const ASKED_AS_ENTRY = 20;

/** Of a policy whose peers ask so many pods of the cluster. */
export function weightOf(policy: Policy | undefined, asks = 0): number {
  return policy === undefined ? 0 : 1 + countEntries(policy) + Math.floor(asks / ASKED_AS_ENTRY);
}
