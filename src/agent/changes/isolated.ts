/**
 * What is programmed for a policy whose rules cannot be programmed: it isolates what it selects and allows nothing. The
 * rule is that of every part that cannot be read (failclosed.ts): an accept matches nothing, a deny or pass denies.
 */
import type { Policy, Rule } from '../../model/policy.ts';

export function isolated(policy: Policy): Policy {
  const { ingress, egress, ...rest } = policy;
  return {
    ...rest,
    ...(ingress !== undefined && { ingress: withoutAllowances(ingress) }),
    ...(egress !== undefined && { egress: withoutAllowances(egress) }),
  };
}

function withoutAllowances(rules: readonly Rule[]): readonly Rule[] {
  const first = rules.find(({ action }) => action !== 'accept');
  return first === undefined ? [] : [{ path: first.path, action: 'deny', peers: 'any', ports: 'any' }];
}
