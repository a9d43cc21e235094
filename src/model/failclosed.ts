/**
 * The one place that gives a meaning to parts of a policy that cannot be read. They never allow traffic: an accept rule
 * with an unreadable part matches nothing, and a deny or pass rule with one denies (C22, C23, 4.10).
 */
import type { DecodedRule, Direction, Peer, Policy, PortMatch, Rule, Tier, Unknown } from './policy.ts';

export function failClosed(rule: DecodedRule, tier: Tier): Rule {
  return tier === 'networkpolicy' ? withoutUnknownParts(rule) : wholeRuleDecides(rule);
}

/**
 * What is left of a policy for a pod of which it is not known whether the policy selects it (N68). A NetworkPolicy
 * isolates the pod and allows nothing. Of a cluster policy the deny rules stay, and pass rules deny, because they might
 * skip a deny rule of a later tier. Returns the same object for the same policy.
 */
export function effectIfUncertain(policy: Policy): Policy {
  const known = policy.uncertain ? policy : uncertainOf.get(policy);
  if (known !== undefined) return known;
  const { ingress: _, egress: __, ...frame } = policy;
  const closed: Policy = {
    ...frame,
    uncertain: true,
    ...closedIn(policy, 'ingress'),
    ...closedIn(policy, 'egress'),
  };
  uncertainOf.set(policy, closed);
  return closed;
}

const uncertainOf = new WeakMap<Policy, Policy>();

function closedIn(policy: Policy, direction: Direction): Partial<Record<Direction, readonly Rule[]>> {
  const rules = policy[direction];
  if (rules === undefined) return {};
  if (policy.tier === 'networkpolicy') return { [direction]: [] };
  const denials = rules.filter(({ action }) => action !== 'accept');
  return denials.length === 0
    ? {}
    : { [direction]: denials.map(rule => ({ ...rule, action: 'deny' as const })) };
}

/** NetworkPolicy: entries are alternatives that only allow, so a bad one is dropped and the others count (N24, N32). */
function withoutUnknownParts({ peers, ports, ...rule }: DecodedRule): Rule {
  return { ...rule, action: 'accept', peers: knownOf<Peer>(peers), ports: knownOf<PortMatch>(ports) };
}

function knownOf<T extends { kind: string }>(
  parts: 'any' | Unknown | readonly (T | Unknown)[],
): 'any' | readonly T[] {
  if (parts === 'any') return parts;
  return isUnknown(parts) ? [] : parts.filter((part): part is T => !isUnknown(part));
}

/** Cluster tiers: if one part is bad, the whole rule matches nothing (accept) or everything (deny, pass). */
function wholeRuleDecides(rule: DecodedRule): Rule {
  const { action, peers, ports } = rule;
  if (!isUnknown(action) && allKnown<Peer>(peers) && allKnown<PortMatch>(ports))
    return { ...rule, action, peers, ports };
  return action === 'accept'
    ? { ...rule, action, peers: [], ports: [] }
    : { ...rule, action: 'deny', peers: 'any', ports: 'any' };
}

function allKnown<T extends { kind: string }>(
  parts: 'any' | Unknown | readonly (T | Unknown)[],
): parts is 'any' | readonly T[] {
  return parts === 'any' || (!isUnknown(parts) && parts.every(part => !isUnknown(part)));
}

function isUnknown(value: unknown): value is Unknown {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'unknown';
}
