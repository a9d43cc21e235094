import { type ClusterEvent, NAMESPACE_NAME_LABEL } from '../../../model/cluster.ts';
import type { Field } from './fields.ts';
import { readLabelled, readName } from './metadata.ts';

export function decodeNamespace(object: Field): ClusterEvent | undefined {
  const { value: name, clean } = object.attempt('the namespace is not known', readName);
  if (name === undefined || !clean) return undefined;
  const { labels, partial } = readLabelled(object);
  // N54: the API server sets this label; a manifest need not, and cannot say otherwise.
  const value = { name, labels: { ...labels, [NAMESPACE_NAME_LABEL]: name }, ...(partial && { partial }) };
  return { type: 'namespace', key: name, value };
}
