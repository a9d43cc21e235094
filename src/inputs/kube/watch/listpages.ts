import type { Api } from '../client/api.ts';
import { readListPage, type TakeListed } from './listpage.ts';
import type { Resource } from './resource.ts';

/** The most objects of a page, and the most bytes: a page is no burden for the server either. */
const MOST = { objects: 500, bytes: 16_000_000 };

/** Reads a list page by page; all pages show one revision, which is what comes back. */
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
