import { ApiError, statusError } from '../client/apierror.ts';
import { asMap, nameOf } from '../report/identity.ts';
import { revisionOf } from './revision.ts';

/** One line of a watch (apimachinery's metav1.WatchEvent). */
export type WatchEvent =
  | {
      readonly type: 'put' | 'gone';
      readonly name: string;
      readonly object: unknown;
      readonly revision: string;
    }
  | { readonly type: 'bookmark'; readonly revision: string; readonly endsList: boolean };

/** Reads a line of a watch; an ERROR line is thrown as what it says. */
export function parseWatchEvent(line: string): WatchEvent {
  const { type, object } = asMap(parseJson(line));
  if (type === 'ERROR') throw statusError(object);
  const revision = revisionOf(object);
  if (revision === undefined) throw garbled(line);
  if (type === 'BOOKMARK') return { type: 'bookmark', revision, endsList: endsList(object) };
  const name = nameOf(object);
  const change = typeof type === 'string' ? CHANGES[type] : undefined;
  if (name === undefined || change === undefined) throw garbled(line);
  return { type: change, name, object, revision };
}

const CHANGES: Readonly<Record<string, 'put' | 'gone'>> = { ADDED: 'put', MODIFIED: 'put', DELETED: 'gone' };

/** KEP-3157: the bookmark that says that the initial events were all. */
function endsList(bookmark: unknown): boolean {
  const annotations = asMap(asMap(asMap(bookmark).metadata).annotations);
  return annotations['k8s.io/initial-events-end'] === 'true';
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw garbled(line);
  }
}

function garbled(line: string): ApiError {
  return new ApiError('garbled', `the watch says something that is no event: ${line.slice(0, 80)}`);
}
