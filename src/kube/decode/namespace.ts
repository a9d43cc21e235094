import { type ClusterEvent, NAMESPACE_NAME_LABEL } from '../../model/cluster.ts';
import type { Field } from './fields.ts';
import { readLabels, readName } from './metadata.ts';

export function decodeNamespace(object: Field): ClusterEvent | undefined {
  const effect = 'the namespace keeps the labels it was last known with';
  const { value: name, clean } = object.attempt(effect, readName);
  const labels = object.attempt(effect, readLabels);
  if (name === undefined || !clean || !labels.clean) return undefined;
  // N54: the API server sets this label; a manifest need not, and cannot say otherwise.
  const value = { name, labels: { ...labels.value, [NAMESPACE_NAME_LABEL]: name } };
  return { type: 'namespace', key: name, value };
}
