/** A cluster with what the reference semantics look up for every flow. */

import type { Address } from '../model/address.ts';
import { addressOwners, type Cluster, type Node, type Pod } from '../model/cluster.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { comparePolicies, type Direction, type Policy, type Rule, type Tier } from '../model/policy.ts';
import { matchesRule, type Packet, selects } from './match.ts';
import { unknownPodFinder } from './unknownpods.ts';

export interface View {
  readonly cluster: Cluster;
  readonly owners: ReadonlyMap<Address, Pod>;
  /** The node in whose pod network an address is that no known pod has, where such are denied. */
  unknownPodOf(address: Address): Node | undefined;
  /** The policies of a tier that select a pod and affect a direction, in order of precedence. */
  policiesOn(pod: Pod, direction: Direction, tier: Tier): readonly Policy[];
}

export function viewOf(cluster: Cluster, unknownPods: UnknownPods = 'allow'): View {
  const ordered = [...cluster.policies.values()].sort(comparePolicies);
  const known = new Map<string, readonly Policy[]>();
  const policiesOn = (pod: Pod, direction: Direction, tier: Tier): readonly Policy[] => {
    const key = `${tier} ${direction} ${pod.key}`;
    const found =
      known.get(key) ??
      ordered.filter(
        policy => policy.tier === tier && policy[direction] && selects(cluster, policy.subject, pod),
      );
    known.set(key, found);
    return found;
  };
  const owners = addressOwners(cluster);
  return { cluster, owners, unknownPodOf: unknownPodFinder(cluster, owners, unknownPods), policiesOn };
}

export interface Match {
  readonly policy: Policy;
  readonly rule: Rule;
}

export function firstMatch(view: View, tier: Tier, packet: Packet): Match | undefined {
  for (const policy of view.policiesOn(packet.subject, packet.direction, tier)) {
    const rule = firstMatchingRule(view.cluster, policy, packet);
    if (rule !== undefined) return { policy, rule };
  }
  return undefined;
}

export function firstMatchingRule(cluster: Cluster, policy: Policy, packet: Packet): Rule | undefined {
  return policy[packet.direction]?.find(rule => matchesRule(cluster, rule, packet));
}
