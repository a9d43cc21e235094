/** What the objects of a text say of the connections that pods need (src/inputs/kube/decode/references.ts). */
import { type Reference, referencesOf } from '../kube/decode/references.ts';
import { asMap, typeOf } from '../kube/report/identity.ts';
import { flattenLists } from './lists.ts';
import { neededDocuments } from './needed.ts';
import { ParseError } from './yaml.ts';

/** Kinds that no other answer reads. */
const ALSO_NEEDED: ReadonlySet<string> = new Set([
  'ConfigMap',
  'RoleBinding',
  'ClusterRoleBinding',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]);

/** What cannot be read is left out, because whoever reads the objects themselves complains of it. */
export function referencesIn(text: string, namespace?: string): readonly Reference[] {
  const { documents } = neededDocuments(text, ALSO_NEEDED);
  return documents.flatMap(document => {
    try {
      if (document instanceof ParseError) return [];
      return flattenLists(document.value).flatMap(({ object }) =>
        referencesOf(inNamespace(object, namespace)),
      );
    } catch (error) {
      if (error instanceof ParseError) return [];
      throw error;
    }
  });
}

function inNamespace(object: unknown, namespace: string | undefined): unknown {
  const map = asMap(object);
  const metadata = asMap(map.metadata);
  const isOfCluster = /^Cluster|Configuration$/.test(typeOf(object).kind ?? '');
  if (namespace === undefined || isOfCluster || (metadata.namespace ?? '') !== '') return object;
  return { ...map, metadata: { ...metadata, namespace } };
}
