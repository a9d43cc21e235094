/** How much work a policy is to compile and to program, as far as its text tells: about its elements in the kernel. */
import type { Peer, Policy, Rule } from '../../model/policy.ts';

const known = new WeakMap<Policy, number>();

export function weightOf(policy: Policy | undefined): number {
  if (policy === undefined) return 0;
  const found = known.get(policy);
  if (found !== undefined) return found;
  const rules = [...(policy.ingress ?? []), ...(policy.egress ?? [])];
  const weight = rules.reduce((sum, rule) => sum + weightOfRule(rule), 1);
  known.set(policy, weight);
  return weight;
}

function weightOfRule({ peers, ports }: Rule): number {
  const ofPeers = peers === 'any' ? 0 : peers.reduce((sum, peer) => sum + weightOfPeer(peer), 0);
  return 1 + ofPeers + (ports === 'any' ? 0 : ports.length);
}

function weightOfPeer(peer: Peer): number {
  return peer.kind === 'network' ? 1 + peer.except.length : 1;
}
