import type { Labels } from '../../model/selector.ts';
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

/** An unknown key beside `spec` may be a `spec` that somebody mistyped. */
export function checkKeys(policy: Field): void {
  policy.withEffect('the key is ignored').expectMap(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
}
