/**
 * The rules that decided a direction, as scenarios and tests write them: `ingress NetworkPolicy shop/db ingress[0]`.
 */
import type { DirectionWalk } from './explain.ts';

/** Several NetworkPolicies with the same verdict decide together; in the other tiers one policy decides. */
export function deciderNames({ direction, verdict, stops }: DirectionWalk): string[] {
  if (verdict.tier === 'default') return [`${direction} default`];
  const together = verdict.tier === 'networkpolicy' ? ['decided', 'same-verdict'] : ['decided'];
  return stops
    .filter(({ tier, part }) => tier === verdict.tier && together.includes(part))
    .map(({ policy, rule }) => [direction, policy, rule].filter(word => word !== undefined).join(' '));
}
