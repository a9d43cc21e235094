/** A policy as a batch is to take it in. */
import type { Policy, PolicyId } from './policy.ts';

export interface PolicyChange {
  readonly id: PolicyId;
  /** Absent where the policy is gone. */
  readonly value: Policy | undefined;
}
