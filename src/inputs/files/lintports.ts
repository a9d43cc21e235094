/** N29, N30: a port's name means what the destination's containers call so, and nothing where none of them does. */
import type { Direction, Policy, Rule } from '../../model/policy.ts';
import type { NamedPort } from '../../model/ports.ts';
import type { Problem } from '../../model/problem.ts';
import type { PodSelector } from '../../model/selector.ts';
import type { SubjectIndex } from './subjects.ts';

/** Of one policy, so that what one author repeats costs others little. */
const MOST_OF_POLICY = 5;

export function unknownPortNames(policy: Policy, subjects: SubjectIndex): readonly Problem[] {
  const found: Problem[] = [];
  for (const direction of ['ingress', 'egress'] as const)
    for (const rule of policy[direction] ?? [])
      for (const port of namedPorts(rule)) {
        if (found.length === MOST_OF_POLICY) return found;
        const destinations = destinationsOf(policy, direction, rule);
        if (hasNobody(destinations, port, subjects))
          found.push(unknownPortName(policy, direction, rule, port));
      }
  return found;
}

function namedPorts({ ports }: Rule): readonly NamedPort[] {
  return ports === 'any' ? [] : ports.filter(port => port.kind === 'named');
}

/** Absent where they are not pods of selectors alone: a network may hold pods that nobody has written down. */
function destinationsOf(policy: Policy, direction: Direction, { peers }: Rule): PodSelector[] | undefined {
  if (direction === 'ingress') return [policy.subject];
  if (peers === 'any') return undefined;
  const selectors = peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
  return selectors.length === peers.length ? selectors : undefined;
}

/** Whether there are destinations, and none of them calls a port so. */
function hasNobody(
  destinations: PodSelector[] | undefined,
  port: NamedPort,
  subjects: SubjectIndex,
): boolean {
  if (destinations === undefined || !destinations.some(each => subjects.selectsAny(each))) return false;
  return !destinations.some(each => subjects.selectsPort(each, port));
}

function unknownPortName(
  { id }: Policy,
  direction: Direction,
  { path }: Rule,
  { name, protocol }: NamedPort,
): Problem {
  const whose = direction === 'ingress' ? 'that the policy selects' : 'that the rule means';
  const port = `${protocol === undefined ? '' : `${protocol} `}"${name}"`;
  return {
    severity: 'warning',
    code: 'port-name',
    object: id,
    field: `spec.${path}`,
    message: `names port ${port}, and none of the pods and workloads ${whose} has it`,
    effect: 'the port matches nothing until one does',
  };
}
