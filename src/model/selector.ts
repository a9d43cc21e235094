/** Label selectors as `apimachinery/pkg/labels` means them, and the selection of pods by namespace and label. */

export type Labels = Readonly<Record<string, string>>;

export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** At least one for In and NotIn, none for Exists and DoesNotExist. */
  readonly values: readonly string[];
}

/** All requirements hold (N55). No requirement at all selects everything (N58). */
export interface LabelSelector {
  readonly requirements: readonly Requirement[];
}

export const EVERYTHING: LabelSelector = { requirements: [] };

/** Namespaces by their one name (a NetworkPolicy's own namespace) or by their labels. */
export type NamespaceSelector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'labels'; readonly selector: LabelSelector };

/** Pods whose namespace and whose labels both match. */
export interface PodSelector {
  readonly namespaces: NamespaceSelector;
  readonly pods: LabelSelector;
}

export const EVERY_NAMESPACE: NamespaceSelector = { kind: 'labels', selector: EVERYTHING };

export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  return selector.requirements.every(requirement => holds(requirement, labels));
}

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

export function matchesNamespace(selector: NamespaceSelector, name: string, labels: Labels): boolean {
  return selector.kind === 'name' ? selector.name === name : matchesLabels(selector.selector, labels);
}

/** Whether the selector selects a pod with this namespace and these labels; `namespaceLabels` are its namespace's. */
export function selectsPod(
  { namespaces, pods }: PodSelector,
  pod: { readonly namespace: string; readonly labels: Labels },
  namespaceLabels: Labels,
): boolean {
  return matchesNamespace(namespaces, pod.namespace, namespaceLabels) && matchesLabels(pods, pod.labels);
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
export function podSelectorText({ namespaces, pods }: PodSelector): string {
  const who = pods.requirements.length === 0 ? 'all pods' : `pods ${selectorText(pods)}`;
  if (namespaces.kind === 'name') return `${who} in namespace ${namespaces.name}`;
  if (namespaces.selector.requirements.length === 0) return `${who} in all namespaces`;
  return `${who} in namespaces ${selectorText(namespaces.selector)}`;
}
