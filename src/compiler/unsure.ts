/**
 * N68 as rules: whom nobody knows whether a rule means is not accepted, is denied, and is denied where he would
 * pass. What a rule accepts stays as it is; the others say among whom they mean their peers.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { NAMESPACE_NAME_LABEL } from '../model/cluster.ts';
import type { Peer, Rule } from '../model/policy.ts';
import type { LabelSelector, PodSelector } from '../model/selector.ts';

/** The rules that take the place of this one; the same objects for the same rule. */
export function withUnsure(rule: Rule): readonly Rule[] {
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
