import type { Labelled, Labels } from '../../../model/selector.ts';
import { asMap } from '../report/identity.ts';
import type { Field } from './fields.ts';
import { isDnsLabel, isDnsSubdomain } from './names.ts';

/** `metadata.name`, or undefined with a problem where the API server would not take it. */
export function readName(object: Field): string | undefined {
  return object.get('metadata').get('name').parsed('a name', nameLike(isDnsSubdomain));
}

/** `metadata.namespace`; kubectl puts an object that names none into `default` (N5). */
export function readNamespace(object: Field): string | undefined {
  const namespace = object.get('metadata').get('namespace');
  const isNamed = namespace.isPresent && namespace.value !== '';
  return isNamed ? namespace.parsed('the name of a namespace', nameLike(isDnsLabel)) : 'default';
}

function nameLike(isName: (text: string) => boolean): (text: string) => string | undefined {
  return text => (isName(text) ? text : undefined);
}

export function readLabels(object: Field): Labels {
  return Object.fromEntries(object.get('metadata').get('labels').textEntries());
}

/** Nobody needs as many: an object of 1.5 MB could have 100,000, and all would be kept in memory. */
const MOST_LABELS = 500;
const NO_LABELS =
  'its labels are not known: no rule that asks for labels allows it anything, and each may deny it';

/** The same, or that nobody knows them (N68). */
export function readLabelled(object: Field): Labelled {
  const labels = object.get('metadata').get('labels');
  const { value, clean } = labels.attempt(NO_LABELS, field => {
    const count = Object.keys(asMap(field.value)).length;
    if (count <= MOST_LABELS) return readLabels(object.withEffect(NO_LABELS));
    field.error(`has ${count} labels, and ${MOST_LABELS} are the most`);
    return {};
  });
  return clean ? { labels: value } : { labels: {}, partial: true };
}

/** An unknown key beside `spec` may be a `spec` that somebody mistyped. */
export function checkKeys(policy: Field): void {
  policy.withEffect('the key is ignored').expectMap(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
}
