/** Reads from the output of `sluice matrix -o json` what a pod may do that is not there yet, as a user would. */

import type { Cluster, Namespace, Pod } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { LabelSelector, Requirement } from '../../../src/model/labels.ts';
import type { Direction } from '../../../src/model/policy.ts';
import { matchesLabels, type PodSelector } from '../../../src/model/selector.ts';
import { parseSelector } from '../../../src/model/selectortext.ts';
import { familyWord, includes, type PrintedConnections } from './printedmatrix.ts';

export interface PrintedExposure {
  readonly direction: Direction;
  readonly members: readonly string[];
  readonly whom: string;
  readonly ipv4: NewPodConnections | null;
  readonly ipv6: NewPodConnections | null;
}

type NewPodConnections = PrintedConnections & {
  readonly named?: readonly string[];
  readonly exceptNamed?: readonly string[];
};

/**
 * Whether the list lets a flow pass between a workload and a new pod. `portName` is the name of its port, if the new pod
 * has one of a number that no rule means.
 */
export function allowedByExposures(
  exposures: readonly PrintedExposure[],
  cluster: Cluster,
  direction: Direction,
  workload: string,
  pod: Pod,
  namespace: Namespace,
  flow: Flow,
  portName: string | undefined,
): boolean {
  const lines = exposures
    .filter(each => each.direction === direction && each.members.includes(workload))
    .map(line => ({ line, selector: parsed(line.whom) }))
    .filter(({ selector }) => matches(selector, pod, namespace));
  const counting = lines.filter(
    ({ selector }) => !lines.some(other => isNarrower(cluster, other.selector, selector)),
  );
  return counting.some(({ line }) => {
    const connections = line[familyWord(flow)];
    if (connections === null) return false;
    return portName === undefined ? includes(connections, flow) : includesNamed(connections, flow, portName);
  });
}

function includesNamed(connections: NewPodConnections, { protocol }: Flow, name: string): boolean {
  const text = `${protocol} ${name}`;
  if (connections.named?.includes(text)) return true;
  const hasLast = includes(connections, { from: '' as never, to: '' as never, protocol, port: 65_535 });
  return hasLast && connections.exceptNamed?.includes(text) !== true;
}

const WHOM =
  /^(?:all pods|pods (?<pods>.+)) in (?:all namespaces|namespace (?<name>\S+)|namespaces (?<labels>.+))$/;

function parsed(whom: string): PodSelector {
  const everything: LabelSelector = { requirements: [] };
  if (whom === 'any other pod')
    return { namespaces: { kind: 'labels', selector: everything }, pods: everything };
  const { pods, name, labels } = WHOM.exec(whom)!.groups!;
  const selector = (text: string | undefined) => (text === undefined ? everything : parseSelector(text)!);
  return {
    namespaces: name === undefined ? { kind: 'labels', selector: selector(labels) } : { kind: 'name', name },
    pods: selector(pods),
  };
}

function matches({ namespaces, pods }: PodSelector, pod: Pod, namespace: Namespace): boolean {
  const isThere =
    namespaces.kind === 'name'
      ? namespaces.name === namespace.name
      : matchesLabels(namespaces.selector, namespace.labels);
  return isThere && matchesLabels(pods, pod.labels);
}

function isNarrower(cluster: Cluster, a: PodSelector, b: PodSelector): boolean {
  return isWithin(cluster, a, b) && !isWithin(cluster, b, a);
}

/** Whether each pod that `a` matches is matched by `b`. */
function isWithin({ namespaces }: Cluster, a: PodSelector, b: PodSelector): boolean {
  return isWithinNamespaces() && implies(a.pods, b.pods);

  function isWithinNamespaces(): boolean {
    const [own, other] = [a.namespaces, b.namespaces];
    if (other.kind === 'name') return own.kind === 'name' && own.name === other.name;
    if (own.kind === 'labels') return implies(own.selector, other.selector);
    const known = namespaces.get(own.name);
    return known === undefined
      ? other.selector.requirements.length === 0
      : matchesLabels(other.selector, known.labels);
  }
}

function implies(a: LabelSelector, b: LabelSelector): boolean {
  const demands =
    (requirement: Requirement) =>
    ({ key, operator, values }: Requirement) =>
      key === requirement.key &&
      (requirement.operator === 'Exists' ||
        (operator === 'In' && values.every(value => requirement.values.includes(value))));
  return b.requirements.every(requirement => a.requirements.some(demands(requirement)));
}
