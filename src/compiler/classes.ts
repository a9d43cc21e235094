/**
 * A class: the local pods for which the policies of one direction say the same. They share one chain, so that a
 * pod that joins or leaves a class costs one map element.
 */
import type { Namespace, Pod } from '../model/cluster.ts';
import { whereUnsure } from '../model/failclosed.ts';
import type { Direction, Policy, Rule } from '../model/policy.ts';
import type { NamedPort, PortRange } from '../model/ports.ts';
import { type Match, matchPod } from '../model/selector.ts';

export interface PodClass {
  readonly direction: Direction;
  /** The policies that select the pods and affect the direction, in order of precedence within each tier. */
  readonly policies: readonly Policy[];
  /** What a named port means on these pods; asked only for ingress, where the pods are the destination (N29). */
  readonly resolve: (port: NamedPort) => readonly PortRange[];
  /** Equal for equal classes. */
  readonly key: string;
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
  const chosen = policies.flatMap(policy => {
    if (policy[direction] === undefined) return [];
    return memberOf(policy, selects(policy, pod, namespace)) ?? [];
  });
  return chosen.length === 0 ? undefined : makeClass(pod, direction, chosen);
}

export function selects({ subject }: Policy, pod: Pod, namespace: Namespace): Match {
  return matchPod(subject, pod, namespace);
}

/** What a policy is in the class of a pod that it matches so. */
export function memberOf(policy: Policy, match: Match): Policy | undefined {
  if (match === 'no') return undefined;
  return match === 'yes' ? policy : whereUnsure(policy);
}

/** The class of a pod that these policies affect in the direction, in order of precedence. */
export function makeClass(pod: Pod, direction: Direction, policies: readonly Policy[]): PodClass {
  const resolve = (port: NamedPort) => resolveOn(pod, port);
  const ports = portsOn(pod, policies, direction);
  const key = JSON.stringify([direction, policies.map(idOf), ports]);
  return { direction, policies, resolve, key };
}

/** What the named ports of the policies mean on the pod, where it is the destination. */
export function portsOn(pod: Pod, policies: readonly Policy[], direction: Direction) {
  return direction === 'ingress' ? resolvedPorts(policies, port => resolveOn(pod, port)) : [];
}

function idOf({ id, unsure }: Policy): string {
  return unsure ? `${id} or not` : id;
}

/** What the named ports of the policies' ingress mean, those that mean something, in a stable order. */
export function resolvedPorts(
  policies: readonly Policy[],
  resolve: PodClass['resolve'],
): readonly (readonly [NamedPort, readonly PortRange[]])[] {
  const named = new Map<string, NamedPort>();
  for (const { ingress = [] } of policies)
    for (const [key, port] of namedPorts(ingress)) named.set(key, port);
  return [...named.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, port]) => [port, resolve(port)] as const)
    .filter(([, ranges]) => ranges.length > 0);
}

function resolveOn(pod: Pod, { name, protocol }: NamedPort): readonly PortRange[] {
  return pod.ports
    .filter(port => port.name === name && (protocol === undefined || port.protocol === protocol))
    .map(({ protocol, port }): PortRange => ({ kind: 'range', protocol, first: port, last: port }))
    .sort((a, b) => a.first - b.first || (a.protocol < b.protocol ? -1 : 1));
}

const found = new WeakMap<readonly Rule[], ReadonlyMap<string, NamedPort>>();

/** Each named port of the rules once: asked for every pod that a policy selects. */
function namedPorts(rules: readonly Rule[]): ReadonlyMap<string, NamedPort> {
  const known = found.get(rules);
  if (known !== undefined) return known;
  const named = new Map<string, NamedPort>();
  for (const { ports } of rules) {
    for (const port of ports === 'any' ? [] : ports)
      if (port.kind === 'named') named.set(`${port.name}/${port.protocol ?? ''}`, port);
  }
  found.set(rules, named);
  return named;
}
