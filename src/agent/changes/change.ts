/** A policy as a batch is to take it in. */
import type { Policy, PolicyId } from '../../model/policy.ts';

export interface PolicyChange {
  readonly id: PolicyId;
  /** Absent where the policy is gone. */
  readonly value: Policy | undefined;
}

/** `shop` of `NetworkPolicy shop/web`; empty for a policy of the whole cluster. */
export function namespaceOf(id: PolicyId): string {
  const name = id.slice(id.indexOf(' ') + 1);
  const end = name.indexOf('/');
  return end < 0 ? '' : name.slice(0, end);
}
