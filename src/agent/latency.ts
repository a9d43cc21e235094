/** How long events take from being noted to being in the kernel. */
import { type ClusterEvent, namespaceOfPod, type PodKey } from '../model/cluster.ts';
import type { Committed } from './committed.ts';

export interface Age {
  readonly ms: number;
  readonly events: number;
}

interface Batch {
  readonly atMs: number;
  events: number;
  /** Events that may wait for a later batch: the keys of their pods and the names of their namespaces. */
  readonly pods: PodKey[];
  readonly namespaces: string[];
}

/**
 * Events that are not in the kernel yet, in the order in which they came:
 *
 *     noted ─▶ pending ──take──▶ under way ──arrived──▶ in the kernel
 *                 └──take──▶ deferred ─▶ under way └──▶ left: of pods that wait, and their namespaces ─▶ in the kernel
 */
export class Backlog {
  #pending: Batch[] = [];
  /** Events of policies that wait for their turn. */
  #deferred: Batch[] = [];
  #underWay: Batch[] = [];
  #left: Batch[] = [];

  /** Events on their way. */
  get size(): number {
    return [...this.#underWay, ...this.#pending].reduce((sum, { events }) => sum + events, 0);
  }

  noted(events: readonly ClusterEvent[], nowMs: number): void {
    let batch = this.#pending.at(-1);
    // A storm must not grow the list: events of the same millisecond share one entry.
    if (batch === undefined || nowMs - batch.atMs >= 1) {
      batch = { atMs: nowMs, events: 0, pods: [], namespaces: [] };
      this.#pending.push(batch);
    }
    batch.events += events.length;
    for (const { type, key } of events) {
      if (type === 'pod') batch.pods.push(key);
      if (type === 'namespace') batch.namespaces.push(key);
    }
  }

  /**
   * Everything recorded so far goes into the next batch, except the changes that have waited for their turn since these
   * times.
   */
  take(deferredSinceMs: readonly number[] = []): void {
    const stays: Batch[] = [];
    const sinceMs = deferredSinceMs.toSorted((a, b) => a - b);
    const waiting = [...this.#deferred, ...this.#pending].sort((a, b) => a.atMs - b.atMs);
    // Assigns each waiting change to the latest batch of events before it. Both lists are walked from their ends,
    // because either may have thousands of entries.
    for (const batch of waiting.toReversed()) {
      const stay = { atMs: batch.atMs, events: 0, pods: [], namespaces: [] };
      while (batch.events > batch.pods.length + batch.namespaces.length) {
        if (sinceMs.length === 0 || batch.atMs > sinceMs.at(-1)! + 1) break;
        sinceMs.pop();
        batch.events--;
        stay.events++;
      }
      if (stay.events > 0) stays.unshift(stay);
    }
    for (const batch of waiting) if (batch.events > 0) this.#underWay.push(batch);
    this.#pending = [];
    this.#deferred = stays;
  }

  /** The batch is in the kernel, without the changes of these pods, which wait for another batch. */
  arrived(nowMs: number, waitingPods: Committed['waitingPods']): Age[] {
    const taken = [...this.#left, ...this.#underWay];
    const namespaces = new Set<string>();
    for (const key of waitingPods.keys()) namespaces.add(namespaceOfPod(key));
    const ages: Age[] = [];
    this.#left = [];
    this.#underWay = [];
    for (const batch of taken) {
      const left = waitingPods.size === 0 ? undefined : waitingOf(batch, waitingPods, namespaces);
      if (left !== undefined && left.events > 0) this.#left.push(left);
      const events = batch.events - (left?.events ?? 0);
      if (events > 0) ages.push({ ms: nowMs - batch.atMs, events });
    }
    return ages;
  }

  /** Age of the oldest event that is on its way, and does not wait for a turn; 0 where there is none. */
  lagMs(nowMs: number): number {
    return oldestMs([...this.#underWay, ...this.#pending], nowMs);
  }

  /** Age of the oldest event of a pod that waits; 0 where none does. */
  waitingMs(nowMs: number): number {
    return oldestMs(this.#left, nowMs);
  }
}

function waitingOf(
  batch: Batch,
  waitingPods: Committed['waitingPods'],
  theirNamespaces: ReadonlySet<string>,
): Batch {
  const pods = batch.pods.filter(key => waitingPods.has(key));
  const namespaces = batch.namespaces.filter(name => theirNamespaces.has(name));
  return { atMs: batch.atMs, events: pods.length + namespaces.length, pods, namespaces };
}

function oldestMs(batches: readonly Batch[], nowMs: number): number {
  return nowMs - batches.reduce((oldest, { atMs }) => Math.min(oldest, atMs), nowMs);
}
