/** Rules and peers with the label of the policy rule that they come from, which becomes the comment of the kernel's rules. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { NAMESPACE_NAME_LABEL } from '../model/cluster.ts';
import { type Direction, type Peer, type Policy, policyLabel, type Rule } from '../model/policy.ts';
import type { LabelSelector, PodSelector } from '../model/selector.ts';
import type { Expr } from '../nft/ruleset.ts';

export interface SourcedRule {
  readonly rule: Rule;
  /** `shop/web ingress[0]`: names the rule in the kernel. */
  readonly label: string;
}

/** The rules of a policy in a direction, in its order, with those added that deny peers whose labels are not known (N68). */
export function sourcedRules(policy: Policy, direction: Direction): SourcedRule[] {
  return (policy[direction] ?? [])
    .flatMap(withUncertainPeers)
    .map(rule => ({ rule, label: `${policyLabel(policy)} ${ruleLabel(rule)}` }));
}

function ruleLabel({ path, name }: Rule): string {
  return name === undefined ? path : `${path} ${name}`;
}

/** Peers, with the label of the rule that they belong to. */
export interface LabelledPeers {
  readonly label: string;
  readonly peers: 'any' | readonly Peer[];
}

/** One peer, with the label of the rule that it belongs to. */
export interface LabelledPeer<P> {
  readonly label: string;
  readonly peer: P;
}

/** One way in which a packet can match peers: all of the expressions have to match. */
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

// N68 as rules: a peer that a rule might select, because its labels are not known, is never accepted. Deny rules deny
// it, and so do pass rules, because a rule of the next tier might have denied it.

/** The rules that replace this one; the same objects for the same rule. */
function withUncertainPeers(rule: Rule): readonly Rule[] {
  return getOrMake(known, rule, () => expand(rule));
}

const known = new WeakMap<Rule, readonly Rule[]>();

function expand(rule: Rule): readonly Rule[] {
  const { action, peers } = rule;
  if (action === 'accept' || peers === 'any' || !peers.some(canBeUncertain)) return [rule];
  if (action === 'deny') return [{ ...rule, peers: peers.map(withCertainty('possible')) }];
  // The deny rule is behind the pass rule, which has taken every peer that it certainly selects.
  return [
    rule,
    { ...rule, action: 'deny', peers: peers.filter(canBeUncertain).map(withCertainty('uncertain')) },
  ];
}

function withCertainty(certainty: NonNullable<PodSelector['certainty']>): (peer: Peer) => Peer {
  return peer => (canBeUncertain(peer) ? { ...peer, selector: { ...peer.selector, certainty } } : peer);
}

/** Whether labels decide what the peer selects. A namespace's name is always known, so a selector of it alone is certain. */
function canBeUncertain(peer: Peer): peer is Extract<Peer, { kind: 'pods' }> {
  if (peer.kind !== 'pods') return false;
  const { namespaces, pods } = peer.selector;
  return (
    pods.requirements.length > 0 || (namespaces.kind === 'labels' && requiresLabels(namespaces.selector))
  );
}

function requiresLabels({ requirements }: LabelSelector): boolean {
  return requirements.some(({ key }) => key !== NAMESPACE_NAME_LABEL);
}
