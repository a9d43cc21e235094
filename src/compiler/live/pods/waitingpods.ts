/**
 * Pods that wait for their turn: of each namespace one after the other, beginning with the namespace whose last turn is
 * longest ago, and of those that had none with the one of which the fewest wait, so that no backlog is anybody's but its
 * own. Of a namespace one in turn of each kind, so that none of them waits without end for others that come and come:
 * first of those that leave addresses.
 */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { namespaceOfPod, type PodKey } from '../../../model/cluster.ts';

/** Why it waits: it leaves addresses, says something else of itself, or its namespace does. */
export type WaitingKind = 'leaving' | 'changed' | 'relabelled';

const KINDS: readonly WaitingKind[] = ['leaving', 'changed', 'relabelled'];

interface Queue {
  readonly pods: Readonly<Record<WaitingKind, Set<PodKey>>>;
  /** The number of its last turn, of all; 0 before the first. */
  lastTurn: number;
  /** How many turns it had. */
  turns: number;
}

function emptyQueue(): Queue {
  return {
    pods: { leaving: new Set(), changed: new Set(), relabelled: new Set() },
    lastTurn: 0,
    turns: 0,
  };
}

export class WaitingPods {
  /** By namespace; none is empty. */
  readonly #queues = new Map<string, Queue>();
  #turn = 0;

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Whoever waits already keeps its place, unless it waits for something else now. What it says itself comes before what its namespace says. */
  add(key: PodKey, kind: WaitingKind): void {
    const { pods } = getOrMake(this.#queues, namespaceOfPod(key), emptyQueue);
    if (kind === 'relabelled' && (pods.leaving.has(key) || pods.changed.has(key))) return;
    for (const other of KINDS) if (other !== kind) pods[other].delete(key);
    pods[kind].add(key);
  }

  isLeaving(key: PodKey): boolean {
    return this.#queues.get(namespaceOfPod(key))?.pods.leaving.has(key) ?? false;
  }

  delete(key: PodKey): void {
    const namespace = namespaceOfPod(key);
    const queue = this.#queues.get(namespace);
    if (queue === undefined) return;
    for (const kind of KINDS) queue.pods[kind].delete(key);
    if (sizeOf(queue) === 0) this.#queues.delete(namespace);
  }

  *all(): Generator<PodKey> {
    for (const { pods } of this.#queues.values()) for (const kind of KINDS) yield* pods[kind];
  }

  /** In turns, and each out of the queue as it comes; whoever has enough goes on with the next one another time. */
  *taking(): Generator<PodKey> {
    let queues = [...this.#queues.values()].sort((a, b) => a.lastTurn - b.lastTurn || sizeOf(a) - sizeOf(b));
    while (queues.length > 0) {
      for (const queue of queues) {
        if (sizeOf(queue) === 0) continue; // others were taken with somebody
        const key = nextOf(queue);
        queue.lastTurn = ++this.#turn;
        this.delete(key);
        yield key;
      }
      queues = queues.filter(queue => sizeOf(queue) > 0);
    }
  }
}

function nextOf(queue: Queue): PodKey {
  for (;;) {
    const [key] = queue.pods[KINDS[queue.turns++ % KINDS.length]!];
    if (key !== undefined) return key;
  }
}

function sizeOf({ pods }: Queue): number {
  return KINDS.reduce((sum, kind) => sum + pods[kind].size, 0);
}
