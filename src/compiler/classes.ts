/**
 * A class: the local pods to which the same policies of one direction apply. They share one chain, so that a pod that
 * joins or leaves a class costs one map element.
 */
import type { Namespace, Pod } from '../model/cluster.ts';
import { effectIfUncertain } from '../model/failclosed.ts';
import type { Direction, Policy } from '../model/policy.ts';
import type { NamedPort, PortRange } from '../model/ports.ts';
import { type Match, matchSubject } from '../model/selector.ts';
import { namedPortsOn, resolvedOn } from './namedportson.ts';

export interface PodClass {
  readonly direction: Direction;
  /** The policies that select the pods and affect the direction, in order of precedence within each tier. */
  readonly policies: readonly Policy[];
  /** The numbers of a named port on these pods. Only ingress needs it, where the pods are the destination (N29). */
  readonly resolve: (port: NamedPort) => readonly PortRange[];
  /**
   * The container ports of one pod of the class. All pods of the class have the same ports of the names that its
   * policies use.
   */
  readonly ports: Pod['ports'];
}

/**
 * The class of a pod in a direction, or undefined where no policy affects it. `policies` are candidates in order
 * of precedence; `namespace` is the pod's.
 */
export function classOf(
  pod: Pod,
  namespace: Namespace,
  policies: readonly Policy[],
  direction: Direction,
): PodClass | undefined {
  return classOfMembers(pod, direction, membersAmong(policies, pod, namespace, direction));
}

/**
 * What each of these policies is in a class of the pod in a direction; policies that do not affect both are left out.
 */
export function membersAmong(
  policies: Iterable<Policy>,
  pod: Pod,
  namespace: Namespace,
  direction: Direction,
): Policy[] {
  return [...policies].flatMap(policy => {
    if (policy[direction] === undefined) return [];
    return memberOf(policy, subjectSelects(policy, pod, namespace)) ?? [];
  });
}

/** The class of a pod with these policies, in order of precedence; undefined if there are none. */
export function classOfMembers(
  pod: Pod,
  direction: Direction,
  members: readonly Policy[],
): PodClass | undefined {
  return members.length === 0 ? undefined : makeClass(pod, direction, withoutSilent(members));
}

/**
 * Leaves out policies without effect. A NetworkPolicy whose rules are still being prepared only isolates; where another
 * NetworkPolicy isolates already, the class is the same without it, so that no class is built for each such policy.
 */
function withoutSilent(policies: readonly Policy[]): readonly Policy[] {
  return policies.some(isolates) ? policies.filter(policy => !awaitsRules(policy)) : policies;
}

/** Whether the policy alone isolates the pods that it selects. */
export function isolates(policy: Policy): boolean {
  return policy.tier === 'networkpolicy' && !awaitsRules(policy);
}

/** Whether the policy only isolates until its rules are prepared. */
export function awaitsRules({ closed }: Policy): boolean {
  return closed === 'rules follow';
}

export function subjectSelects({ subject }: Policy, pod: Pod, namespace: Namespace): Match {
  return matchSubject(subject, pod, namespace);
}

/** The policy as it is in the class of a pod, by whether it selects the pod. */
export function memberOf(policy: Policy, match: Match): Policy | undefined {
  if (match === 'no') return undefined;
  return match === 'yes' ? policy : effectIfUncertain(policy);
}

/** The class of a pod that these policies affect in the direction, in order of precedence. */
export function makeClass(pod: Pod, direction: Direction, policies: readonly Policy[]): PodClass {
  const { ports } = pod;
  return { direction, policies, resolve: port => resolvedOn({ ports }, port), ports };
}

/** A key that is equal for equal classes. It contains every policy id, so only its hash is kept. */
export function classKey({ direction, policies, ports }: PodClass): string {
  return JSON.stringify([direction, policies.map(idOf), portsOn({ ports }, policies, direction)]);
}

/** The numbers of named ports; only of ingress, where the pod is the destination (N29). */
export function portsOn(pod: Pick<Pod, 'ports'>, policies: readonly Policy[], direction: Direction) {
  return direction === 'ingress' ? namedPortsOn(pod, policies) : [];
}

/** The namespace of the NetworkPolicies in the list, which all have the same one. */
export function tenantOf(policies: readonly Policy[]): string | undefined {
  for (const { tier, subject } of policies)
    if (tier === 'networkpolicy' && subject.namespaces.kind === 'name') return subject.namespaces.name;
  return undefined;
}

/** The id of the policy, marked where it is what `effectIfUncertain` leaves of the policy. */
export function idOf({ id, uncertain }: Policy): string {
  return uncertain ? `${id} or not` : id;
}

/** Compares the policies as objects, because an edited policy is another object. */
export function samePolicies(a: PodClass, b: PodClass): boolean {
  if (a === b) return true;
  return a.policies.length === b.policies.length && a.policies.every((policy, i) => policy === b.policies[i]);
}
