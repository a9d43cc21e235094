import { type Backoff, backoffMs, jitteredMs } from '../../../lib/async/backoff.ts';
import type { Timing } from '../../../lib/async/timing.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import { type Api, ApiError } from '../client/api.ts';
import { isOfType } from '../decode/decode.ts';
import { asMap } from '../report/identity.ts';
import { readListPage } from './listpage.ts';
import { NAMESPACES } from './resource.ts';
import type { TerminatingNamespaces } from './terminatingnamespaces.ts';

/** Whether a namespace is there, and is not being deleted, at some moment after the question. Rejects without an answer. */
export type IsLiving = (namespace: string, signal: AbortSignal) => Promise<boolean>;

export interface NamespaceQuestionsNeeds {
  readonly terminating: TerminatingNamespaces;
  readonly isLiving: IsLiving;
  readonly publish: (events: readonly ClusterEvent[]) => void;
  readonly timing: Timing;
  /** After this signal nothing is asked or published. */
  readonly signal: AbortSignal;
}

/** How long the allow rules of a deleted policy stay in force while its namespace's state is unknown. */
const LATE_MS = 1_000;
const RETRY: Backoff = { firstMs: 100, mostMs: 10_000 };

/** Asks whether the namespaces of deleted policies live, each again and again until it does or its pods are gone. */
export class NamespaceQuestions {
  readonly #needs: NamespaceQuestionsNeeds;
  /** Keys are namespaces; resolved when the first answer is there, or late. */
  readonly #asking = new Map<string, PromiseWithResolvers<void>>();

  constructor(needs: NamespaceQuestionsNeeds) {
    this.#needs = needs;
  }

  /** Asks about these namespaces, except those about which a question is under way. */
  ask(namespaces: readonly string[]): void {
    for (const namespace of namespaces)
      if (!this.#asking.has(namespace)) {
        const first = Promise.withResolvers<void>();
        this.#asking.set(namespace, first);
        void this.#settle(namespace, first.resolve);
      }
  }

  /** Resolves when every question under way was answered once, or is late. */
  async settled(): Promise<void> {
    await Promise.all([...this.#asking.values()].map(({ promise }) => promise));
  }

  async #settle(namespace: string, onFirst: () => void): Promise<void> {
    const { terminating, publish, timing, signal } = this.#needs;
    const settled = new AbortController();
    const ended = AbortSignal.any([signal, settled.signal]);
    const isolate = () => ended.aborted || publish(terminating.isolate(namespace));
    const lateAtMs = timing.now() + LATE_MS;
    void timing.sleep(LATE_MS, ended).then(isolate).then(onFirst);
    for (let failures = 0; terminating.isOpen(namespace) && !signal.aborted; ) {
      const { lives, retryAfterMs = 0 } = await this.#ask(namespace);
      if (lives !== undefined) onFirst();
      if (lives) failures = 0;
      else {
        if (timing.now() >= lateAtMs) isolate();
        const waitMs = jitteredMs(backoffMs(RETRY, ++failures), timing.random());
        await timing.sleep(Math.max(waitMs, retryAfterMs), ended);
      }
    }
    settled.abort();
    this.#asking.delete(namespace);
  }

  /** Asks about one namespace; the result is empty if there was no answer. */
  async #ask(namespace: string): Promise<{ lives?: boolean; retryAfterMs?: number }> {
    const { terminating, isLiving, publish, signal } = this.#needs;
    const deletions = terminating.deletionsOf(namespace);
    try {
      const lives = await isLiving(namespace, signal);
      if (!signal.aborted) publish(terminating.answered(namespace, deletions, lives));
      return { lives };
    } catch (error) {
      return error instanceof ApiError ? { retryAfterMs: error.retryAfterMs } : {};
    }
  }
}

/** Asks the server for its present state: a list without a revision is never older than the request. */
export function askedOf(api: Api): IsLiving {
  return async (namespace, signal) => {
    let lives = false;
    await readListPage(
      api,
      { ...NAMESPACES, fieldSelector: `metadata.name=${namespace}` },
      { limit: '1' },
      items => {
        if (items.some(({ object }) => !isOfType(object, NAMESPACES)))
          throw new ApiError('garbled', 'the list of namespaces has an object that is none');
        lives = items.some(({ name, object }) => name === namespace && !isTerminating(object));
      },
      signal,
    );
    return lives;
  };
}

export function isTerminating(namespace: unknown): boolean {
  return asMap(asMap(namespace).metadata).deletionTimestamp !== undefined;
}
