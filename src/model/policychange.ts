/** A policy that was added, changed or deleted, as a batch applies it. */
import type { Policy, PolicyId } from './policy.ts';

export interface PolicyChange {
  readonly id: PolicyId;
  /** Absent if the policy is deleted. */
  readonly value: Policy | undefined;
}
