import { ApiError, statusError } from '../client/apierror.ts';
import { type DeliveredType, isOfType } from '../decode/delivered.ts';
import { asMap, objectKey } from '../report/identity.ts';
import { revisionOf } from './revision.ts';

/** One line of a watch (apimachinery's metav1.WatchEvent). */
export type WatchEvent =
  | {
      readonly type: 'upsert' | 'delete';
      readonly name: string;
      readonly object: unknown;
      readonly revision: string;
    }
  | { readonly type: 'bookmark'; readonly revision: string; readonly endsList: boolean };

/**
 * Reads what a line of a watch of that type says; an ERROR is thrown as what it says. The end of an object of another
 * type is no end of ours: it is thrown too, and a list says what is there.
 */
export function parseWatchEvent(value: unknown, resource: DeliveredType): WatchEvent {
  const { type, object } = asMap(value);
  if (type === 'ERROR') throw statusError(object);
  const revision = revisionOf(object);
  if (revision === undefined) throw garbled(value);
  if (type === 'BOOKMARK') return { type: 'bookmark', revision, endsList: endsList(object) };
  const name = objectKey(object);
  const change = typeof type === 'string' ? CHANGES[type] : undefined;
  if (name === undefined || change === undefined) throw garbled(value);
  if (change === 'delete' && !isOfType(object, resource)) throw garbled(value);
  return { type: change, name, object, revision };
}

const CHANGES: Readonly<Record<string, 'upsert' | 'delete'>> = {
  ADDED: 'upsert',
  MODIFIED: 'upsert',
  DELETED: 'delete',
};

/** KEP-3157: the bookmark that says that the initial events were all. */
function endsList(bookmark: unknown): boolean {
  const annotations = asMap(asMap(asMap(bookmark).metadata).annotations);
  return annotations['k8s.io/initial-events-end'] === 'true';
}

function garbled(value: unknown): ApiError {
  const said = JSON.stringify(value)?.slice(0, 80);
  return new ApiError('garbled', `the watch says something that is no event: ${said}`);
}
