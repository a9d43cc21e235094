/**
 * A class: the local pods for which the policies of one direction say the same. They share one chain, so that a
 * pod that joins or leaves a class costs one map element.
 */
import type { Pod } from '../model/cluster.ts';
import type { Direction, Policy, PortMatch, Rule } from '../model/policy.ts';
import { type Labels, selectsPod } from '../model/selector.ts';

export type NamedPort = Extract<PortMatch, { kind: 'named' }>;
export type PortRange = Extract<PortMatch, { kind: 'range' }>;

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
 * of precedence; `labels` are those of the pod's namespace.
 */
export function classOf(
  pod: Pod,
  labels: Labels,
  policies: readonly Policy[],
  direction: Direction,
): PodClass | undefined {
  const chosen = policies.filter(policy => policy[direction] !== undefined && selects(policy, pod, labels));
  return chosen.length === 0 ? undefined : makeClass(pod, direction, chosen);
}

export function selects({ subject }: Policy, pod: Pod, labels: Labels): boolean {
  return selectsPod(subject, pod, labels);
}

function makeClass(pod: Pod, direction: Direction, policies: readonly Policy[]): PodClass {
  const resolve = (port: NamedPort) => resolveOn(pod, port);
  const ports = direction === 'ingress' ? namedPorts(policies.flatMap(policy => policy.ingress ?? [])) : [];
  const key = JSON.stringify([
    direction,
    policies.map(({ id }) => id),
    ports.map(port => [port, resolve(port)]),
  ]);
  return { direction, policies, resolve, key };
}

function resolveOn(pod: Pod, { name, protocol }: NamedPort): readonly PortRange[] {
  return pod.ports
    .filter(port => port.name === name && (protocol === undefined || port.protocol === protocol))
    .map(({ protocol, port }): PortRange => ({ kind: 'range', protocol, first: port, last: port }))
    .sort((a, b) => a.first - b.first || (a.protocol < b.protocol ? -1 : 1));
}

/** Each named port of the rules once, in a stable order. */
function namedPorts(rules: readonly Rule[]): NamedPort[] {
  const found = new Map<string, NamedPort>();
  for (const { ports } of rules) {
    for (const port of ports === 'any' ? [] : ports) {
      if (port.kind === 'named') found.set(`${port.name}/${port.protocol ?? ''}`, port);
    }
  }
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, port]) => port);
}
