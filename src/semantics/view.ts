/** A cluster with the look-ups that the reference semantics need for every flow. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Address } from '../model/address.ts';
import { addressOwners } from '../model/addressowners.ts';
import { addressesOfNode, type Cluster, type Node, namespaceAround, type Pod } from '../model/cluster.ts';
import { effectIfUncertain } from '../model/failclosed.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction, Policy, Rule, Tier } from '../model/policy.ts';
import { matchSubject } from '../model/selector.ts';
import { matchRule, type Packet } from './match.ts';
import { PolicyIndex } from './policyindex.ts';
import { nodesFinder, type TunnelFinders, tunnelFinders, tunnelNodeFinder } from './tunnelends.ts';
import { unknownPodFinders } from './unknownpods.ts';

/** The pod that owns an address. */
export type Owners = Pick<ReadonlyMap<Address, Pod>, 'get' | 'has'>;

export interface View {
  readonly tunnels: TunnelFinders;
  readonly cluster: Cluster;
  readonly owners: Owners;
  /** The node in whose pod network an address is that no known pod has; undefined where nodes allow unknown pods. */
  nodeDenyingUnknownPod(address: Address): Node | undefined;
  /** The node in whose pod network an address is that no known pod has, whether or not nodes deny unknown pods. */
  nodeOfUnknownPod(address: Address): Node | undefined;
  /** The node that has an address, be it of its tunnel; one that has it in its status takes precedence. */
  nodeWith(address: Address): Node | undefined;
  /** The node that sends from an address into its tunnel (N75). */
  tunnelNodeAt(address: Address): Node | undefined;
  /** The nodes that a rule which denies or passes means at an address (C59). */
  nodesAt(address: Address): readonly Node[];
  /** The policies of a tier that select a pod and affect a direction, in order of precedence. */
  policiesOn(pod: Pod, direction: Direction, tier: Tier): readonly Policy[];
}

/** A view that can list the owners of all addresses. */
export interface WholeView extends View {
  readonly owners: ReadonlyMap<Address, Pod>;
}

/**
 * The view of `node`, if given: a node knows its own pods better than others do. `index` contains the cluster's
 * policies.
 */
export function viewOf(
  cluster: Cluster,
  unknownPods: UnknownPods = 'allow',
  node?: string,
  index?: PolicyIndex,
): WholeView {
  const owners = addressOwners(cluster, node);
  return { ...viewBy(owners, cluster, unknownPods, index), owners };
}

/** A view for a caller that finds the owners of addresses itself. */
export function viewBy(
  owners: Owners,
  cluster: Cluster,
  unknownPods: UnknownPods,
  index?: PolicyIndex,
): View {
  return {
    cluster,
    owners,
    nodeWith: nodeFinder(cluster, owners),
    tunnels: tunnelFinders(cluster),
    tunnelNodeAt: tunnelNodeFinder(cluster, owners),
    nodesAt: nodesFinder(cluster, owners),
    ...unknownPodFinders(cluster, owners, unknownPods),
    policiesOn: policyFinder(cluster, index),
  };
}

/** `nodeWith` for a cluster whose nodes do not change. `owners` is asked each time, because pods may. */
export function nodeFinder(cluster: Cluster, owners: Pick<Owners, 'has'>): View['nodeWith'] {
  const { nodes } = cluster;
  const tunnelNodeAt = tunnelNodeFinder(cluster, owners);
  const byAddress = new Map<Address, Node>();
  for (const addressesOf of [addressesOfNode, ({ addresses }: Node) => addresses])
    for (const node of nodes.values()) for (const address of addressesOf(node)) byAddress.set(address, node);
  return address => byAddress.get(address) ?? tunnelNodeAt(address);
}

/**
 * `policiesOn` for a cluster whose policies, which `index` contains, and namespaces do not change. A pod that changes
 * is another object.
 */
export function policyFinder(
  cluster: Cluster,
  index = new PolicyIndex(cluster.policies.values()),
): View['policiesOn'] {
  const known = new WeakMap<Pod, PoliciesOfPod>();
  return (pod, direction, tier) => {
    const { candidates, found } = getOrMake(known, pod, () => ({
      candidates: index.candidates(pod),
      found: new Map(),
    }));
    return getOrMake(found, `${tier} ${direction}`, () =>
      policiesAmong(candidates, cluster, pod, direction, tier),
    );
  };
}

interface PoliciesOfPod {
  readonly candidates: readonly Policy[];
  /** The policies of a pod by tier and direction. */
  readonly found: Map<string, readonly Policy[]>;
}

/** The policies of a tier that select the pod and affect the direction, in the given order. */
export function policiesAmong(
  policies: readonly Policy[],
  cluster: Cluster,
  pod: Pod,
  direction: Direction,
  tier: Tier,
): readonly Policy[] {
  return policies
    .filter(policy => policy.tier === tier && policy[direction] !== undefined)
    .flatMap(policy => asSeenBy(pod, policy, cluster))
    .filter(policy => policy[direction] !== undefined);
}

/**
 * The policy as it applies to the pod: empty if it does not select the pod, and what `effectIfUncertain` leaves if that
 * is not known (N68) or the pod only awaits its allow rules.
 */
export function asSeenBy(pod: Pod, policy: Policy, cluster: Cluster): readonly Policy[] {
  const match = matchSubject(policy.subject, pod, namespaceAround(cluster, pod));
  if (match === 'no') return [];
  return [match === 'yes' ? policy : effectIfUncertain(policy)];
}

export interface MatchingRule {
  readonly policy: Policy;
  readonly rule: Rule;
}

export function firstMatch(view: View, tier: Tier, packet: Packet): MatchingRule | undefined {
  for (const policy of view.policiesOn(packet.subject, packet.direction, tier)) {
    const rule = firstMatchingRule(view.cluster, policy, packet);
    if (rule !== undefined) return { policy, rule };
  }
  return undefined;
}

export function firstMatchingRule(cluster: Cluster, policy: Policy, packet: Packet): Rule | undefined {
  for (const rule of policy[packet.direction] ?? []) {
    const match = matchRule(cluster, rule, packet);
    if (match === 'yes') return rule;
    // N68: a peer that the rule might match is denied, and never allowed. A pass denies, because it might skip a
    // denial.
    if (match === 'unknown' && rule.action !== 'accept') return { ...rule, action: 'deny' };
  }
  return undefined;
}
