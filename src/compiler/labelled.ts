/** Rules and peers with the name of the policy's rule that they come from, which the kernel's rules carry as a comment. */

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

// N68 as rules: whom nobody knows whether a rule means is not accepted, is denied, and is denied where he would
// pass. What a rule accepts stays as it is; the others say among whom they mean their peers.

/** The rules that take the place of this one; the same objects for the same rule. */
function withUnsure(rule: Rule): readonly Rule[] {
  return getOrMake(known, rule, () => expand(rule));
}

const known = new WeakMap<Rule, readonly Rule[]>();

function expand(rule: Rule): readonly Rule[] {
  const { action, peers } = rule;
  if (action === 'accept' || peers === 'any' || !peers.some(mayBeUnsure)) return [rule];
  if (action === 'deny') return [{ ...rule, peers: peers.map(among('possible')) }];
  // Whoever is meant for sure has passed by then.
  return [rule, { ...rule, action: 'deny', peers: peers.filter(mayBeUnsure).map(among('unsure')) }];
}

function among(among: NonNullable<PodSelector['among']>): (peer: Peer) => Peer {
  return peer => (mayBeUnsure(peer) ? { ...peer, selector: { ...peer.selector, among } } : peer);
}

/** Whether it takes labels to tell; the name of a namespace is always known. */
function mayBeUnsure(peer: Peer): peer is Extract<Peer, { kind: 'pods' }> {
  if (peer.kind !== 'pods') return false;
  const { namespaces, pods } = peer.selector;
  return pods.requirements.length > 0 || (namespaces.kind === 'labels' && asksForLabels(namespaces.selector));
}

function asksForLabels({ requirements }: LabelSelector): boolean {
  return requirements.some(({ key }) => key !== NAMESPACE_NAME_LABEL);
}
