/** The parts that objects of all kinds have: name, namespace, labels, and whether a policy is enforced. */
import type { Labelled, Labels } from '../../../model/selector.ts';
import { asMap } from '../report/identity.ts';
import { describe, type Field } from './fields.ts';

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

/** An object of 1.5 MB could have 100,000 labels, and all would be kept in memory. */
const MOST_LABELS = 500;
const NO_LABELS =
  'its labels are not known: no rule that asks for labels allows it anything, and each may deny it';

/** The labels of an object, or the mark that they are unknown (N68). */
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

/** An unknown key beside `spec` may be a misspelt `spec`. */
export function checkKeys(policy: Field): void {
  policy.withEffect('the key is ignored').expectMap(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
}

/** The annotation by which an author puts a policy in force, or only shows what it would do. */
export const ENFORCEMENT = 'sluice.dev/enforcement';

/** Every value other than exactly `audit` enforces the policy: a typing error must never open traffic. */
export function readEnforcement(object: Field): { readonly audited?: true } {
  const annotation = object.get('metadata').get('annotations').get(ENFORCEMENT);
  if (annotation.value === 'audit') return { audited: true };
  if (annotation.isPresent && annotation.value !== 'enforce')
    annotation.warning(
      `must be audit or enforce, not ${describe(annotation.value)}`,
      'the policy is enforced',
    );
  return {};
}

// The syntax of names, labels and ports as the API server checks it.
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

function isDnsLabel(text: string): boolean {
  return text.length <= 63 && DNS_LABEL.test(text);
}

function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text);
}

/** `app`, `kubernetes.io/metadata.name`. */
export function isLabelKey(text: string): boolean {
  const slash = text.indexOf('/');
  return isLabelWord(text.slice(slash + 1)) && (slash === -1 || isDnsSubdomain(text.slice(0, slash)));
}

export function isLabelValue(text: string): boolean {
  return text === '' || isLabelWord(text);
}

function isLabelWord(text: string): boolean {
  return text.length <= 63 && LABEL_WORD.test(text);
}

/** At most 15 of a-z, 0-9 and single inner dashes, with one letter at least: "80" is no name. */
export function isPortName(text: string): boolean {
  return text.length <= 15 && DNS_LABEL.test(text) && /[a-z]/.test(text) && !text.includes('--');
}
