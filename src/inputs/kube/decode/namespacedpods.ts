import type { PodSelector } from '../../../model/selector.ts';
import type { Field } from './fields.ts';
import { readLabelSelector, readSubjectSelector } from './labelselector.ts';

/** C16: both selectors hold. Without a namespaceSelector v1alpha2 means all namespaces; v1alpha1 demands one. */
export function readNamespacedPods(field: Field, needsNamespaceSelector: boolean): PodSelector {
  const { namespaces, pods } = partsOf(field, needsNamespaceSelector);
  return {
    namespaces: { kind: 'labels', selector: readLabelSelector(namespaces) },
    pods: readLabelSelector(pods),
  };
}

/** The same of a subject: what cannot be read leaves open which of the others' pods are meant. */
export function readSubjectPods(field: Field, needsNamespaceSelector: boolean, effect: string): PodSelector {
  const { value, clean } = field.attempt(effect, pods => partsOf(pods, needsNamespaceSelector));
  const pods = readSubjectSelector(value.pods, effect);
  return {
    namespaces: { kind: 'labels', selector: readSubjectSelector(value.namespaces, effect) },
    pods: clean ? pods : { ...pods, unreadable: true },
  };
}

function partsOf(field: Field, needsNamespaceSelector: boolean) {
  field.expectMap(['namespaceSelector', 'podSelector']);
  const [namespaces, pods] = [field.get('namespaceSelector'), field.get('podSelector')];
  if (needsNamespaceSelector && !namespaces.isPresent) namespaces.error('is missing');
  if (!pods.isPresent) pods.error('is missing');
  return { namespaces, pods };
}
