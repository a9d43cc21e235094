/** Rules and peers with the name of the policy's rule that they come from, which the kernel's rules carry as a comment. */
import { type Direction, type Peer, type Policy, policyLabel, type Rule } from '../model/policy.ts';
import type { Expr } from '../nft/ruleset.ts';
import { withUnsure } from './unsure.ts';

export interface SourcedRule {
  readonly rule: Rule;
  /** `shop/web ingress[0]`: names the rule in the kernel. */
  readonly label: string;
}

/** The rules of a policy in a direction, in its order, with what they mean for those of whom nobody knows enough. */
export function sourcedRules(policy: Policy, direction: Direction): SourcedRule[] {
  return (policy[direction] ?? [])
    .flatMap(withUnsure)
    .map(rule => ({ rule, label: `${policyLabel(policy)} ${ruleLabel(rule)}` }));
}

function ruleLabel({ path, name }: Rule): string {
  return name === undefined ? path : `${path} ${name}`;
}

/** Peers, and the rule that names them. */
export interface LabelledPeers {
  readonly label: string;
  readonly peers: 'any' | readonly Peer[];
}

/** One peer, and a rule that names it. */
export interface LabelledPeer<P> {
  readonly label: string;
  readonly peer: P;
}

/** One way to match: all of its expressions hold. */
export interface PeerMatch {
  readonly match: readonly Expr[];
  readonly labels: readonly string[];
}

export function labelsAmong(labelled: readonly { readonly label: string }[]): string[] {
  return labelled.map(({ label }) => label);
}

export function distinctBy<T>(values: readonly T[], keyOf: (value: T) => string): T[] {
  return [...new Map(values.map(value => [keyOf(value), value])).values()];
}
