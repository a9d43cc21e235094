/** The identity that an object states, unchecked: for dispatch and for messages. */
import { isText } from '../../../lib/text/istext.ts';
import type { ObjectReference } from '../../../model/problem.ts';

export interface ObjectType {
  readonly apiVersion?: string;
  readonly kind?: string;
}

export function typeOf(object: unknown): ObjectType {
  const { apiVersion, kind } = asMap(object);
  return { ...(isText(apiVersion) && { apiVersion }), ...(isText(kind) && { kind }) };
}

export function metadataOf(object: unknown): { readonly name: string; readonly namespace: string } {
  const { name, namespace } = asMap(asMap(object).metadata);
  return { name: shown(name) ?? '(no name)', namespace: shown(namespace) ?? 'default' };
}

export function asMap(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** None where it is no list. */
export function asMaps(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(asMap) : [];
}

/** Bad names reach messages too; their length and their control characters stay here. */
function shown(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (!isText(value)) return undefined;
  return JSON.stringify(value).slice(1, -1).slice(0, 253);
}

/**
 * `shop/web`, or `node-1` for a cluster-scoped object: the key by which the API server identifies objects of a kind.
 */
export function objectKey(object: unknown): string | undefined {
  const { name, namespace } = asMap(asMap(object).metadata);
  if (!isText(name)) return undefined;
  // Joined: a text made by `${}` refers to its parts for as long as it lives, and sources keep very many of these.
  return isText(namespace) ? [namespace, name].join('/') : name;
}

/** A reference to the object; undefined if the object lacks its identity. */
export function referenceOf(object: unknown): ObjectReference | undefined {
  const { apiVersion, kind } = typeOf(object);
  const { name, namespace, uid, generation } = asMap(asMap(object).metadata);
  if (apiVersion === undefined || kind === undefined || !isText(name)) return undefined;
  return {
    apiVersion,
    kind,
    name,
    ...(isText(namespace) && { namespace }),
    ...(isText(uid) && { uid }),
    ...(typeof generation === 'number' && { generation }),
  };
}

/** `metadata.resourceVersion` of an object or a list, where it has one. */
export function revisionOf(object: unknown): string | undefined {
  const { resourceVersion } = asMap(asMap(object).metadata);
  return typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined;
}

/**
 * Whether `now` is before `then`: the server's storage was rolled back. Revisions of one resource are integers that can
 * be compared (KEP-5504); other texts cannot, and count as not rolled back.
 */
export function isRolledBack(now: string, then: string): boolean {
  return /^\d+$/.test(now) && /^\d+$/.test(then) && BigInt(now) < BigInt(then);
}
