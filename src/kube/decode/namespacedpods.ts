import type { PodSelector } from '../../model/selector.ts';
import type { Field } from './fields.ts';
import { readLabelSelector } from './labelselector.ts';

/** C16: both selectors hold. Without a namespaceSelector v1alpha2 means all namespaces; v1alpha1 demands one. */
export function readNamespacedPods(field: Field, needsNamespaceSelector: boolean): PodSelector {
  field.expectMap(['namespaceSelector', 'podSelector']);
  const [namespaces, pods] = [field.get('namespaceSelector'), field.get('podSelector')];
  if (needsNamespaceSelector && !namespaces.isPresent) namespaces.error('is missing');
  if (!pods.isPresent) pods.error('is missing');
  return {
    namespaces: { kind: 'labels', selector: readLabelSelector(namespaces) },
    pods: readLabelSelector(pods),
  };
}
