/** How much work a policy is to compile and to program. */
import type { Policy } from '../../model/policy.ts';
import { countEntries } from '../../model/policysize.ts';

export function weightOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}
