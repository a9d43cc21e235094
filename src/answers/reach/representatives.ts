/**
 * Pods that nobody has made yet: for each selector of a rule's peer that selects no pod of the cluster, one with just
 * the labels that it asks for, in a namespace with just the labels that it asks for.
 */

import { contentText } from '../../lib/text/contenttext.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Namespace } from '../../model/cluster.ts';
import type { LabelSelector, Labels, Requirement } from '../../model/labels.ts';
import { type Policy, rulesOf } from '../../model/policy.ts';
import {
  EVERY_NAMESPACE,
  EVERYTHING,
  matchPod,
  type NamespaceSelector,
  type PodSelector,
} from '../../model/selector.ts';
import type { ImaginedPod } from './landscape.ts';

export interface Representative extends ImaginedPod {
  /** Whom it stands for. */
  readonly selector: PodSelector;
}

/** A pod of which no policy knows a label, in a namespace of which none does. */
export const ANYBODY: PodSelector = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };

/** `isPresent` says whether a selector selects a pod that is there. */
export function representativesOf(
  cluster: Cluster,
  isPresent: (selector: PodSelector) => boolean,
): Representative[] {
  const selectors = new Map(peerSelectors(cluster.policies.values()).map(each => [contentText(each), each]));
  selectors.delete(contentText(ANYBODY));
  const missing = [...selectors.values()].filter(selector => !isPresent(selector));
  return [ANYBODY, ...missing].flatMap(selector => {
    const namespace = namespaceFor(cluster, selector.namespaces);
    const labels = labelsFor(selector.pods);
    if (namespace === undefined || labels === undefined) return [];
    const pod = { namespace: namespace.name, labels };
    if (matchPod(selector, pod, namespace) !== 'yes') return [];
    return [{ selector, namespace, labels, ports: [] }];
  });
}

function peerSelectors(policies: Iterable<Policy>): PodSelector[] {
  return [...policies].flatMap(policy =>
    rulesOf(policy).flatMap(({ peers }) =>
      peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : [])),
    ),
  );
}

/** The namespace of that name as it is, else one that is made for this; undefined where there can be none. */
function namespaceFor({ namespaces }: Cluster, selector: NamespaceSelector): Namespace | undefined {
  const labels = selector.kind === 'name' ? {} : labelsFor(selector.selector);
  if (labels === undefined) return undefined;
  const name = selector.kind === 'name' ? selector.name : labels[NAMESPACE_NAME_LABEL];
  if (name === undefined) return { name: '', labels };
  const own = { ...labels, [NAMESPACE_NAME_LABEL]: name };
  return namespaces.get(name) ?? { name, labels: own };
}

/** The fewest labels that fulfil all requirements; undefined where none do. */
function labelsFor({ requirements }: LabelSelector): Labels | undefined {
  const keys = new Set(requirements.map(({ key }) => key));
  const labels: Record<string, string> = {};
  for (const key of keys) {
    const value = valueFor(requirements.filter(requirement => requirement.key === key));
    if (value === IMPOSSIBLE) return undefined;
    if (value !== ABSENT) labels[key] = value;
  }
  return labels;
}

const ABSENT = Symbol('absent');
const IMPOSSIBLE = Symbol('impossible');

/** All requirements are on one key. */
function valueFor(requirements: readonly Requirement[]): string | typeof ABSENT | typeof IMPOSSIBLE {
  const of = (operator: Requirement['operator']) =>
    requirements.filter(requirement => requirement.operator === operator);
  const denied = new Set(of('NotIn').flatMap(({ values }) => values));
  const [first, ...others] = of('In');
  const isForbidden = of('DoesNotExist').length > 0;
  if (first === undefined && of('Exists').length === 0) return ABSENT;
  if (isForbidden) return IMPOSSIBLE;
  if (first === undefined) return freshValue(denied);
  const allowed = first.values.filter(
    value => !denied.has(value) && others.every(({ values }) => values.includes(value)),
  );
  return allowed[0] ?? IMPOSSIBLE;
}

/** One that is not denied. */
function freshValue(denied: ReadonlySet<string>): string {
  for (let i = 0; ; i++) if (!denied.has(`any${i}`)) return `any${i}`;
}
