/** Peers that are domain names; only egress rules have them. */
import { getOrMake } from '../lib/collections/getormake.ts';
import { domainPeersOf, type Policy, type Rule } from './policy.ts';

/** The names of a rule as written, wildcards included. */
export function patternsOfRule({ peers }: Rule): readonly string[] {
  return domainPeersOf(peers).map(({ name }) => name);
}

/** The names of all rules of a policy, each once. */
export function patternsOfPolicy(policy: Policy): readonly string[] {
  return getOrMake(PATTERNS, policy, () => [...new Set((policy.egress ?? []).flatMap(patternsOfRule))]);
}

const PATTERNS = new WeakMap<Policy, readonly string[]>();

/** Whether the policy has a rule by name, whatever pods it selects. */
export function hasDomainPeers(policy: Policy): boolean {
  return patternsOfPolicy(policy).length > 0;
}
