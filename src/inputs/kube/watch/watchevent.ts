import { ApiError, statusError } from '../client/apierror.ts';
import { type DeliveredType, isOfType } from '../decode/delivered.ts';
import { asMap, objectKey } from '../report/identity.ts';

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

/**
 * How long a watch lasts until the server ends it, as it was asked to, and it is asked anew on the same connection. A
 * watch whose server is gone does not end, whoever else keeps its connection alive, a load balancer for one: that is
 * how it is found dead. All agents together ask a server for no more than a hundred watches a second, each of which it
 * answers from its memory; up to some 180 nodes a watch lasts 15 s at most.
 */

/** Of each agent: as many as there are resources that it follows. */
const WATCHES = 8;
const MOST_PER_SECOND = 100;
const SHORTEST_S = 15;
/** As others ask; the first watch of all, which begins with a list, for as long as that may take. */
export const LONGEST_S = 600;

/** At most, in a cluster of so many nodes. */
export function watchSeconds(nodes: number): number {
  return Math.min(LONGEST_S, Math.max(SHORTEST_S, (nodes * WATCHES) / MOST_PER_SECOND));
}

/** A half of it by lot, so that clients spread over the server's replicas, and over time. */
export function byLot(seconds: number, random: number): number {
  return Math.ceil((seconds / 2) * (1 + random));
}

/** `metadata.resourceVersion` of an object or a list, where it has one. */
export function revisionOf(object: unknown): string | undefined {
  const { resourceVersion } = asMap(asMap(object).metadata);
  return typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined;
}

/**
 * Whether `now` lies before `then`: the server's storage was rolled back. Revisions of one resource are integers
 * that compare (KEP-5504); of any other text nobody can say.
 */
export function isRolledBack(now: string, then: string): boolean {
  return /^\d+$/.test(now) && /^\d+$/.test(then) && BigInt(now) < BigInt(then);
}
