import type { Api, Query } from '../client/api.ts';
import { ApiError } from '../client/apierror.ts';
import { asMap, nameOf } from '../report/identity.ts';
import { type Resource, selection } from './resource.ts';
import { revisionOf } from './revision.ts';

export interface ListedObject {
  readonly name: string;
  readonly object: unknown;
}

export interface ListPage {
  readonly items: readonly ListedObject[];
  readonly revision: string;
  /** Where the next page starts; absent on the last one. */
  readonly next?: string;
}

/** The pages of a list; all of them show one revision. Memory holds one at a time. */
export async function* listPages(
  api: Api,
  resource: Resource,
  signal: AbortSignal,
): AsyncGenerator<ListPage> {
  let page = await readListPage(api, resource, { limit: PAGE_SIZE }, signal);
  yield page;
  while (page.next !== undefined) {
    page = await readListPage(api, resource, { limit: PAGE_SIZE, continue: page.next }, signal);
    yield page;
  }
}

const PAGE_SIZE = '500';

/**
 * Reads one page of a list. Whatever does not look like exactly this list throws: a proxy's friendly page must
 * not be taken for a list of nothing, because then everything would be deleted.
 */
export async function readListPage(
  api: Api,
  resource: Resource,
  query: Query,
  signal: AbortSignal,
): Promise<ListPage> {
  const { apiVersion, kind, path } = resource;
  const list = asMap(await readJson(await api.get(path, { ...selection(resource), ...query }, signal)));
  const revision = revisionOf(list);
  const isList = list.kind === `${kind}List` && list.apiVersion === apiVersion;
  // The server writes an empty list as null.
  const items = list.items ?? [];
  if (!isList || revision === undefined || !Array.isArray(items))
    throw new ApiError('garbled', `${path}: the answer is no ${kind}List`);
  const next = asMap(list.metadata).continue;
  return {
    items: items.map(item => listed(item, resource)),
    revision,
    ...(typeof next === 'string' && next !== '' && { next }),
  };
}

/** The items of a list do not say what they are. */
function listed(item: unknown, { apiVersion, kind, path }: Resource): ListedObject {
  const name = nameOf(item);
  if (name === undefined) throw new ApiError('garbled', `${path}: an object of the list has no name`);
  return { name, object: { apiVersion, kind, ...asMap(item) } };
}

async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (cause) {
    throw new ApiError('garbled', 'the list is no JSON, or only a part of it', { cause });
  }
}
