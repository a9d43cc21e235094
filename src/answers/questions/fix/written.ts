/** NetworkPolicies as their authors wrote them, for edits of them: an answer has only what they mean. */
import { flattenLists } from '../../../inputs/files/lists.ts';
import { parseDocuments } from '../../../inputs/files/parse.ts';
import { ParseError } from '../../../inputs/files/yaml.ts';
import { asMap, metadataOf, typeOf } from '../../../inputs/kube/report/identity.ts';
import type { PolicyId } from '../../../model/policy.ts';
import { allowingEdits, denyingEdits, edited } from './edits.ts';
import type { PolicyObject } from './proposal.ts';

/** Undefined where it is not known how a policy is written. */
export interface Written {
  readonly of: (id: PolicyId) => PolicyObject | undefined;
  /** Given with it, so that the page, which has none, does not load them. */
  readonly edits: typeof EDITS;
}

const EDITS = { allowingEdits, denyingEdits, edited };

export function writtenAs(of: Written['of']): Written {
  return { of, edits: EDITS };
}

/** Looks policies up in the texts of manifests. Objects without a namespace are in `namespace`. The first of a name counts. */
export function writtenIn(texts: readonly string[], namespace = 'default'): Written {
  return writtenAs(id => {
    const [place = '', name = ''] = id.slice(id.indexOf(' ') + 1).split('/');
    for (const each of texts)
      for (const object of each.includes(name) ? objectsIn(each) : []) {
        const { metadata } = asMap(object);
        const own = { ...asMap(metadata), namespace: asMap(metadata).namespace ?? namespace };
        const known = metadataOf({ metadata: own });
        if (isPolicy(object) && known.name === name && known.namespace === place)
          return asApplied({ ...asMap(object), metadata: own });
      }
    return undefined;
  });
}

/** Without what the server added, some of which it refuses in what is applied. */
export function asApplied({ status: _, ...object }: PolicyObject): PolicyObject {
  const { managedFields, uid, resourceVersion, creationTimestamp, generation, annotations, ...own } = asMap(
    object.metadata,
  );
  const { [LAST_APPLIED]: __, ...others } = asMap(annotations);
  const isAny = Object.keys(others).length > 0;
  return { ...object, metadata: { ...own, ...(isAny && { annotations: others }) } };
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function isPolicy(object: unknown): boolean {
  const { apiVersion, kind } = typeOf(object);
  return kind === KIND && apiVersion === API_VERSION;
}

const API_VERSION = 'networking.k8s.io/v1';
const KIND = 'NetworkPolicy';

/** What cannot be parsed has no policy to edit. */
function objectsIn(manifest: string): readonly unknown[] {
  try {
    return parseDocuments(manifest).flatMap(document =>
      document instanceof ParseError ? [] : flattenLists(document.value).map(({ object }) => object),
    );
  } catch (error) {
    if (error instanceof ParseError) return [];
    throw error;
  }
}
