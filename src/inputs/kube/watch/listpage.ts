import type { Api, Query } from '../client/api.ts';
import { ApiError } from '../client/apierror.ts';
import { Skimmer } from '../client/skim.ts';
import { shapeOf } from '../decode/shapes.ts';
import { asMap, objectKey } from '../report/identity.ts';
import { type Resource, selection } from './resource.ts';
import { revisionOf } from './revision.ts';

export interface ListedObject {
  readonly name: string;
  readonly object: unknown;
}

/** What a page says of itself, once it was read to its end. */
export interface PageEnd {
  readonly revision: string;
  /** Where the next page starts; absent on the last one. */
  readonly next?: string;
  readonly bytes: number;
}

/** Takes the objects that arrived together. */
export type TakeListed = (items: readonly ListedObject[]) => void;

/** The list, its items, an item: what is below has limits. */
const LEVELS = 3;

/**
 * Reads one page of a list, and hands its objects on as they arrive: a page may be larger than all memory. Whatever does
 * not look like exactly this list throws: a proxy's friendly page must not be taken for a list of nothing, because then
 * everything would be deleted.
 */
export async function readListPage(
  api: Api,
  resource: Resource,
  query: Query,
  take: TakeListed,
  signal: AbortSignal,
): Promise<PageEnd> {
  const { path, kind } = resource;
  let arrived: ListedObject[] = [];
  const emit = (item: unknown) => void arrived.push(listed(item, resource));
  const items = { each: resource.shape ?? shapeOf(kind), emit };
  const skimmer = new Skimmer({ apiVersion: 'all', kind: 'all', metadata: 'all', items }, LEVELS);
  let bytes = 0;
  for await (const chunk of await api.get(path, { ...selection(resource), ...query }, signal)) {
    bytes += chunk.length;
    skimmer.push(chunk);
    signal.throwIfAborted();
    if (arrived.length > 0) take(arrived);
    arrived = [];
  }
  return { ...endOfList(asMap(skimmer.value()), resource), bytes };
}

/** The server writes an empty list as null. */
function endOfList(list: Readonly<Record<string, unknown>>, { apiVersion, kind, path }: Resource) {
  const revision = revisionOf(list);
  const isList = list.kind === `${kind}List` && list.apiVersion === apiVersion;
  if (!isList || revision === undefined || !Array.isArray(list.items ?? []))
    throw new ApiError('garbled', `${path}: the answer is no ${kind}List`);
  const next = asMap(list.metadata).continue;
  return { revision, ...(typeof next === 'string' && next !== '' && { next }) };
}

/** The items of a list need not say what they are; what one does say is kept, for whoever reads it. */
function listed(item: unknown, { apiVersion, kind, path }: Resource): ListedObject {
  const name = objectKey(item);
  if (name === undefined) throw new ApiError('garbled', `${path}: an object of the list has no name`);
  const object = asMap(item);
  return {
    name,
    object: { ...object, apiVersion: object.apiVersion ?? apiVersion, kind: object.kind ?? kind },
  };
}
