import { type Api, ApiError, type Query } from '../client/api.ts';
import { Skimmer } from '../client/skim.ts';
import { asMap, objectKey, revisionOf } from '../report/identity.ts';
import { type Resource, selection } from './resource.ts';
import { shapeOf } from './shapes.ts';

export interface ListedObject {
  readonly name: string;
  readonly object: unknown;
}

/** The list metadata of a page, complete once the page was read to its end. */
export interface PageEnd {
  readonly revision: string;
  /** The token of the next page; absent on the last one. */
  readonly next?: string;
  readonly bytes: number;
}

/** Takes the objects that arrived together. */
export type TakeListed = (items: readonly ListedObject[]) => void;

/** Levels of a list, its items, and an item: values below them have size limits. */
const LEVELS = 3;

/**
 * Reads one page of a list, and passes its objects on as they arrive: a page may be larger than the memory. Throws if
 * the answer does not look exactly like this list: a proxy's error page must not count as an empty list, because then
 * all objects would be deleted.
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

/** Items of a list may omit apiVersion and kind; if an item has them, they are kept for the decoder. */
function listed(item: unknown, { apiVersion, kind, path }: Resource): ListedObject {
  const name = objectKey(item);
  if (name === undefined) throw new ApiError('garbled', `${path}: an object of the list has no name`);
  const object = asMap(item);
  return {
    name,
    object: { ...object, apiVersion: object.apiVersion ?? apiVersion, kind: object.kind ?? kind },
  };
}

/** The most objects of a page, and the most bytes: a page is no burden for the server either. */
const MOST = { objects: 500, bytes: 16_000_000 };

/** Reads a list page by page; all pages have the same revision, which is returned. */
export async function listPages(
  api: Api,
  resource: Resource,
  take: TakeListed,
  signal: AbortSignal,
): Promise<string> {
  let limit = MOST.objects;
  let page = await readListPage(api, resource, { limit: String(limit) }, take, signal);
  const { revision } = page;
  while (page.next !== undefined) {
    limit = nextLimit(limit, page.bytes);
    page = await readListPage(api, resource, { limit: String(limit), continue: page.next }, take, signal);
  }
  return revision;
}

/** As many objects of the size of these as make a page; twice as many as before at most, for the next may be larger. */
export function nextLimit(limit: number, bytes: number): number {
  const fitting = Math.floor((limit * MOST.bytes) / Math.max(bytes, 1));
  return Math.max(1, Math.min(MOST.objects, limit * 2, fitting));
}
