/**
 * Follows one resource of the API server: reads it whole once, then every change of it, for as long as it takes.
 *
 *     ┌──────── no revision ◀──── 410, ERROR, rolled back ──────┐
 *     ▼                                                         │
 *  streaming list ──▶ (goes on as) ──▶ watch from the revision ─┤
 *     │ 422: cannot stream              ▲          ▲            │ cut, overdue, 401, 403, 500 …
 *     ▼                                 │          └─ back-off ─┘ (thirty times, and it is listed again)
 *  pages of 500 ────────────────────────┘
 *
 * Only the end of a whole list, or the server's word in a watch, ever says that an object is gone.
 */

import { type Backoff, backoffMs, jitteredMs } from '../../../lib/async/backoff.ts';
import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import type { Timing } from '../../../lib/async/timing.ts';
import { type Api, ApiError, isExpired, isNotUnderstood, type Query, statusError } from '../client/api.ts';
import { jsonLines } from '../client/jsonlines.ts';
import { type DeliveredType, isOfType } from '../decode/decode.ts';
import { asMap, isRolledBack, objectKey, revisionOf } from '../report/identity.ts';
import { listPages, readListPage, type TakeListed } from './listpage.ts';
import { type Resource, selection } from './resource.ts';
import { shapeOf } from './shapes.ts';

export type WatchChange =
  | { readonly type: 'upsert' | 'delete'; readonly name: string; readonly object: unknown }
  /** The list is complete: objects that it did not have are deleted. */
  | { readonly type: 'replaced' };

/** The copy of the server's state that a reflector keeps up to date. All calls are synchronous. */
export interface Store {
  /** A list begins. Where the storage may have been `rolledBack`, an object may differ although its revision is the same. */
  startReplace(rolledBack: boolean): void;
  /** Applies changes in the order in which they came. */
  apply(changes: readonly WatchChange[]): void;
  /** Changes arrive again, or no longer; with a reason where a try to get them back has failed. */
  setHealth(isWatching: boolean, reason?: unknown): void;
}

const STREAMED_LIST = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
const RETRY: Backoff = { firstMs: 100, mostMs: 10_000 };
/** The most events that are processed at once: decoding and publishing them takes some milliseconds. */
const MOST_TAKEN = 16;
/** A watch that ends sooner is one that failed. */
const SHORT_WATCH_MS = 1000;
/**
 * After this many failures in a row, some minutes, the reflector lists instead: a proxy that blocks watches may let
 * lists pass.
 */
const PERSISTENT = 30;

export class Reflector {
  readonly #api: Api;
  readonly #resource: Resource;
  readonly #store: Store;
  readonly #timing: Timing;
  readonly #watchSeconds: () => number;
  /** The revision up to which all changes were seen; without one the objects have to be listed. */
  #revision: string | undefined;
  /** The storage was, or may have been, rolled back: the next list trusts no revision. */
  #rolledBack = false;
  /** Whether the server may have been restored from a backup since the last answer. */
  #isSuspect = false;
  /** Failures in a row. A watch that ended early counts as a failure, whatever it delivered. */
  #failures = 0;
  /** Watches in a row that delivered nothing and ended early although the server had just answered. */
  #unheard = 0;
  /** The time since which changes have been arriving; undefined while they do not. */
  #watchingSinceMs: number | undefined;

  /** `watchSeconds` returns how long a watch may last now. */
  constructor(api: Api, resource: Resource, store: Store, timing: Timing, watchSeconds = () => LONGEST_S) {
    this.#api = api;
    this.#watchSeconds = watchSeconds;
    this.#resource = resource;
    this.#store = store;
    this.#timing = timing;
  }

  /** Runs until the signal, through all errors of the server. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const error = await this.#follow(signal).catch((error: unknown) => error);
      if (!signal.aborted && error !== undefined) await this.#recover(error, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#isSuspect && this.#revision !== undefined) await this.#checkRevision(this.#revision, signal);
    if (this.#revision === undefined) await this.#list(signal);
    else {
      this.#unheard++;
      await this.#watch({ resourceVersion: this.#revision }, signal);
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#isSuspect = true;
    if (this.#timing.now() - (this.#watchingSinceMs ?? Number.POSITIVE_INFINITY) >= SHORT_WATCH_MS)
      this.#failures = 0;
    this.#watchingSinceMs = undefined;
    // A storage that was rolled back and has grown past our revision meanwhile looks like one that compacted our
    // revision.
    if (isExpired(error)) this.#rolledBack = true;
    if (isExpired(error) || this.#unheard >= PERSISTENT) this.#revision = undefined;
    this.#store.setHealth(false, this.#failures > 0 ? error : undefined);
    const askedMs = error instanceof ApiError ? error.retryAfterMs : 0;
    const waitMs = jitteredMs(backoffMs(RETRY, ++this.#failures), this.#timing.random());
    await this.#timing.sleep(Math.max(askedMs, waitMs), signal);
  }

  /**
   * On a storage that was rolled back, a watch from our revision would wait in silence until the new history is
   * as long as the old one.
   */
  async #checkRevision(known: string, signal: AbortSignal): Promise<void> {
    const { revision } = await readListPage(this.#api, this.#resource, { limit: '1' }, () => {}, signal);
    this.#rolledBack = isRolledBack(revision, known);
    if (this.#rolledBack) this.#revision = undefined;
    this.#isSuspect = false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#store.startReplace(this.#rolledBack);
    try {
      await this.#watch(STREAMED_LIST, signal);
    } catch (error) {
      const canStream = !isNotUnderstood(error) && this.#failures < PERSISTENT;
      if (this.#revision !== undefined || canStream) throw error;
      await this.#readPages(signal);
    }
  }

  async #readPages(signal: AbortSignal): Promise<void> {
    const take: TakeListed = items => this.#store.apply(items.map(item => ({ type: 'upsert', ...item })));
    const revision = await listPages(this.#api, this.#resource, take, signal);
    this.#store.apply([{ type: 'replaced' }]);
    this.#progress(revision);
    this.#store.setHealth(true);
  }

  async #watch(query: Query, signal: AbortSignal): Promise<void> {
    const isList = this.#revision === undefined;
    const seconds = this.#jittered(isList ? LONGEST_S : this.#watchSeconds());
    const options = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(seconds) };
    const enough = new AbortController();
    const body = await this.#api.get(
      this.#resource.path,
      { ...selection(this.#resource), ...options, ...query },
      AbortSignal.any([signal, enough.signal]),
    );
    const startedMs = this.#timing.now();
    if (!isList) this.#store.setHealth(true);
    try {
      await this.#read(body, enough, signal);
    } catch (error) {
      if (!enough.signal.aborted || signal.aborted) throw error;
    } finally {
      if (this.#timing.now() - startedMs >= SHORT_WATCH_MS) this.#progress(this.#revision);
    }
    if (!enough.signal.aborted) this.#judgeEnd(this.#timing.now() - startedMs, seconds * 1000);
  }

  /** A list that goes on as a watch would last for as long as a list may: `enough` ends it when a watch would end. */
  async #read(body: AsyncIterable<Uint8Array>, enough: AbortController, signal: AbortSignal): Promise<void> {
    const isList = this.#revision === undefined;
    const slices = new EventLoopYield();
    let timer: NodeJS.Timeout | undefined;
    try {
      for await (const values of jsonLines(body, { type: 'all', object: shapeOf(this.#resource.kind) })) {
        for (let at = 0; at < values.length; at += MOST_TAKEN) {
          signal.throwIfAborted();
          this.#take(values.slice(at, at + MOST_TAKEN));
          if (slices.isOver) await slices.rest();
        }
        if (isList && this.#revision !== undefined)
          timer ??= setTimeout(() => enough.abort(), this.#jittered(this.#watchSeconds()) * 1000).unref();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #jittered(seconds: number): number {
    return jitteredSeconds(seconds, this.#timing.random());
  }

  /** An event of a watch that cannot be understood may have been a change: only a list shows the present state. */
  #take(values: readonly unknown[]): void {
    try {
      const events: WatchEvent[] = [];
      for (const value of values) events.push(parseWatchEvent(value, this.#resource));
      this.#apply(events);
    } catch (error) {
      this.#revision = undefined;
      throw error;
    }
  }

  #apply(events: readonly WatchEvent[]): void {
    const isListed = this.#revision === undefined && events.some(isEndOfList);
    this.#store.apply(events.flatMap(toChange));
    if (isListed || this.#revision !== undefined) this.#progress(events.at(-1)?.revision ?? this.#revision);
    if (isListed) this.#store.setHealth(true);
  }

  #progress(revision: string | undefined): void {
    if (revision === undefined) return;
    this.#revision = revision;
    this.#unheard = 0;
    this.#watchingSinceMs ??= this.#timing.now();
    this.#rolledBack = false;
    this.#isSuspect = false;
  }

  /** A watch that ends in order before its time was ended by a server that goes away. */
  #judgeEnd(lastedMs: number, plannedMs: number): void {
    if (this.#revision === undefined) throw new ApiError('cut', 'the list ends early');
    if (lastedMs < SHORT_WATCH_MS) throw new ApiError('cut', 'the watch ends as soon as it begins');
    if (lastedMs < plannedMs * 0.9) this.#isSuspect = true;
  }
}

function isEndOfList(event: WatchEvent): boolean {
  return event.type === 'bookmark' && event.endsList;
}

function toChange(event: WatchEvent): readonly WatchChange[] {
  if (event.type !== 'bookmark') return [event];
  return event.endsList ? [{ type: 'replaced' }] : [];
}

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
 * Parses a line of a watch of that type; an ERROR event is thrown as an error. A deletion of an object of another type
 * does not count: it is thrown, too, and a list shows the present state.
 */
function parseWatchEvent(value: unknown, resource: DeliveredType): WatchEvent {
  const { type, object } = asMap(value);
  if (type === 'ERROR') throw statusError(object);
  const revision = revisionOf(object);
  if (revision === undefined) throw noEvent(value);
  if (type === 'BOOKMARK') return { type: 'bookmark', revision, endsList: endsList(object) };
  const name = objectKey(object);
  const change = typeof type === 'string' ? CHANGES[type] : undefined;
  if (name === undefined || change === undefined) throw noEvent(value);
  if (change === 'delete' && !isOfType(object, resource)) throw noEvent(value);
  return { type: change, name, object, revision };
}

const CHANGES: Readonly<Record<string, 'upsert' | 'delete'>> = {
  ADDED: 'upsert',
  MODIFIED: 'upsert',
  DELETED: 'delete',
};

/** KEP-3157: the bookmark that ends the initial events. */
function endsList(bookmark: unknown): boolean {
  const annotations = asMap(asMap(asMap(bookmark).metadata).annotations);
  return annotations['k8s.io/initial-events-end'] === 'true';
}

function noEvent(value: unknown): ApiError {
  const said = JSON.stringify(value)?.slice(0, 80);
  return new ApiError('garbled', `the watch says something that is no event: ${said}`);
}

/**
 * How long a watch lasts until the server ends it, as it was asked to; then it is requested anew on the same
 * connection. If the server is gone, a watch does not end in time, even if something else, such as a load balancer,
 * keeps its connection alive: that is how a dead server is detected. All agents together open at most a hundred watches
 * a second, each of which the server answers from memory; with up to some 180 nodes, a watch lasts 15 s at most.
 */

/** The number of watches of an agent, one for each resource. */
const WATCHES = 8;
const MOST_PER_SECOND = 100;
const SHORTEST_S = 15;
/** As others ask; the first watch of all, which begins with a list, for as long as that may take. */
const LONGEST_S = 600;

/** The longest duration of a watch in a cluster with so many nodes. */
export function watchSeconds(nodes: number): number {
  return Math.min(LONGEST_S, Math.max(SHORTEST_S, (nodes * WATCHES) / MOST_PER_SECOND));
}

/** A half of it by lot, so that clients spread over the server's replicas, and over time. */
function jitteredSeconds(seconds: number, random: number): number {
  return Math.ceil((seconds / 2) * (1 + random));
}
