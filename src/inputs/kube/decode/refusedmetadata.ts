/**
 * What API servers refuse of any object beside what policy needs: numbers among labels and annotations,
 * keys that none of them can have, and unknown fields, for which kubectl asks them to refuse it.
 */
import type { Problem } from '../../../model/problem.ts';
import { describe, Field, type Report } from './fields.ts';
import { isLabelKey, isLabelValue } from './metadata.ts';

const EFFECT = 'API servers refuse the object';

export function refusedMetadata(object: unknown, name: string): readonly Problem[] {
  const report: Report = { object: name, problems: [], errors: 0 };
  const root = new Field(object, '', EFFECT, report);
  if (root.get('kind').value === 'NetworkPolicy') refuseStatus(root.get('status'));
  const metadata = root.get('metadata');
  if (metadata.isPresent && metadata.requireMap()) checkMetadata(metadata);
  return report.problems;
}

/** It was a field of Kubernetes 1.24 to 1.27, and is in what was exported from them. */
function refuseStatus(status: Field): void {
  if (status.value !== undefined) status.error('is not a field any more since Kubernetes 1.28: remove it');
}

function checkMetadata(metadata: Field): void {
  metadata.expectMap(FIELDS);
  const labels = metadata.get('labels');
  for (const [key, value] of labels.textEntries()) {
    checkKey(labels.get(key), key);
    if (!isLabelValue(value)) labels.get(key).error(`${describe(value)} is not the value of a label`);
  }
  const annotations = metadata.get('annotations');
  for (const [key] of annotations.textEntries()) checkKey(annotations.get(key), key.toLowerCase());
}

function checkKey(field: Field, key: string): void {
  if (!isLabelKey(key)) field.error(`${describe(key)} is not a key that a label or an annotation can have`);
}

/** ObjectMeta. */
const FIELDS = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];
