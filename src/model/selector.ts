/** Label selectors as `apimachinery/pkg/labels` means them, and the selection of pods by namespace and label. */
import type { Labelled, LabelSelector, Labels, Operator, Requirement } from './labels.ts';
import { matchesMany } from './manyrequirements.ts';

export type { Labelled, LabelSelector, Labels, Operator, Requirement };

/** Whether a selector selects an object. Where that is `unknown`, rules that allow do not apply, and rules that deny do (N68). */
export type Match = 'yes' | 'no' | 'unknown';

export const EVERYTHING: LabelSelector = { requirements: [] };

/** Namespaces by name (a NetworkPolicy's own namespace) or by labels. */
export type NamespaceSelector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'labels'; readonly selector: LabelSelector };

/** Pods whose namespace and whose labels both match. */
export interface PodSelector {
  readonly namespaces: NamespaceSelector;
  readonly pods: LabelSelector;
  /**
   * Which pods a rule with this selector applies to, where labels may not be known: absent, pods that it certainly
   * selects; `possible`, these and pods that it might select; `uncertain`, only pods that it might select.
   */
  readonly certainty?: 'possible' | 'uncertain';
}

export const EVERY_NAMESPACE: NamespaceSelector = { kind: 'labels', selector: EVERYTHING };

export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  const { requirements } = selector;
  if (requirements.length > FEW) return matchesMany(selector, labels);
  for (const requirement of requirements) {
    if (requirement.values.length > FEW) return matchesMany(selector, labels);
    if (!holds(requirement, labels)) return false;
  }
  return true;
}

/** Longer selectors are looked up by label key, so that the cost grows with the labels and not with the selector. */
const FEW = 8;

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  // Own properties only: a label may be called `constructor`.
  const present = Object.hasOwn(labels, key);
  switch (operator) {
    case 'In':
      return present && values.includes(labels[key]!);
    case 'NotIn':
      return !present || !values.includes(labels[key]!); // N56: NotIn matches when the key is missing.
    case 'Exists':
      return present;
    case 'DoesNotExist':
      return !present;
  }
}

export function matchLabels(selector: LabelSelector, labelled: Labelled): Match {
  if (labelled.partial) return matchPartly(selector, labelled.labels);
  if (!matchesLabels(selector, labelled.labels)) return 'no';
  return selector.unreadable ? 'unknown' : 'yes';
}

/** For an object whose labels are only known in part: a requirement on a key that is not known neither holds nor fails. */
function matchPartly({ requirements, unreadable }: LabelSelector, labels: Labels): Match {
  const known = requirements.filter(({ key }) => Object.hasOwn(labels, key));
  if (!known.every(requirement => holds(requirement, labels))) return 'no';
  return known.length < requirements.length || unreadable ? 'unknown' : 'yes';
}

export function matchNamespace(selector: NamespaceSelector, name: string, namespace: Labelled): Match {
  if (selector.kind === 'labels') return matchLabels(selector.selector, namespace);
  return selector.name === name ? 'yes' : 'no';
}

/** Whether the selector selects a pod of this namespace. */
export function matchPod(
  { namespaces, pods }: PodSelector,
  pod: Labelled & { readonly namespace: string },
  namespace: Labelled,
): Match {
  const match = matchNamespace(namespaces, pod.namespace, namespace);
  if (match === 'no') return 'no';
  const own = matchLabels(pods, pod);
  return match === 'yes' ? own : own === 'no' ? 'no' : 'unknown';
}

/** Whether a policy with this subject selects a pod. For a pod that policies only isolate, a match is unknown. */
export function matchSubject(
  subject: PodSelector,
  pod: Labelled & { readonly namespace: string; readonly closed?: 'rules follow' },
  namespace: Labelled,
): Match {
  const match = matchPod(subject, pod, namespace);
  return match === 'yes' && pod.closed !== undefined ? 'unknown' : match;
}

/** Whether a rule with this selector applies to a pod of this namespace. */
export function selectsPod(
  selector: PodSelector,
  pod: Labelled & { readonly namespace: string },
  namespace: Labelled,
): boolean {
  const match = matchPod(selector, pod, namespace);
  if (selector.certainty === undefined) return match === 'yes';
  return match === 'unknown' || (selector.certainty === 'possible' && match === 'yes');
}

/** kubectl's selector syntax: `app=web,tier in (a, b),!legacy`; `*` for everything. */
export function selectorText({ requirements }: LabelSelector): string {
  return requirements.length === 0 ? '*' : requirements.map(requirementText).join(',');
}

function requirementText({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(', ')})`;
    case 'NotIn':
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(', ')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
}

/** `pods app=web in namespace shop`, `all pods in namespaces team=a`. */
export function podSelectorText({ namespaces, pods, certainty }: PodSelector): string {
  const whom = pods.requirements.length === 0 ? 'all pods' : `pods ${selectorText(pods)}`;
  const who = certainty === 'uncertain' ? `perhaps ${whom}` : whom;
  if (namespaces.kind === 'name') return `${who} in namespace ${namespaces.name}`;
  if (namespaces.selector.requirements.length === 0) return `${who} in all namespaces`;
  return `${who} in namespaces ${selectorText(namespaces.selector)}`;
}
