/**
 * Pods that wait for their turn: of each namespace one after the other, beginning with the namespace whose last turn is
 * longest ago, and of those that had none with the one of which the fewest wait, so that no backlog is anybody's but its
 * own. Of a namespace those that leave addresses go first.
 */
import { namespaceOfPod, type PodKey } from '../../model/cluster.ts';
import { getOrMake } from '../../model/getormake.ts';

interface Queue {
  readonly leaving: Set<PodKey>;
  readonly others: Set<PodKey>;
  /** The number of its last turn, of all; 0 before the first. */
  lastTurn: number;
}

export class WaitingPods {
  /** By namespace; none is empty. */
  readonly #queues = new Map<string, Queue>();
  #turn = 0;

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Whoever waits already keeps its place, unless it was none that leaves and is one now, or the reverse. */
  add(key: PodKey, isLeaving: boolean): void {
    const queue = getOrMake(this.#queues, namespaceOfPod(key), () => ({
      leaving: new Set<PodKey>(),
      others: new Set<PodKey>(),
      lastTurn: 0,
    }));
    const [its, other] = isLeaving ? [queue.leaving, queue.others] : [queue.others, queue.leaving];
    other.delete(key);
    its.add(key);
  }

  isLeaving(key: PodKey): boolean {
    return this.#queues.get(namespaceOfPod(key))?.leaving.has(key) ?? false;
  }

  delete(key: PodKey): void {
    const namespace = namespaceOfPod(key);
    const queue = this.#queues.get(namespace);
    queue?.leaving.delete(key);
    queue?.others.delete(key);
    if (queue !== undefined && sizeOf(queue) === 0) this.#queues.delete(namespace);
  }

  *all(): Generator<PodKey> {
    for (const { leaving, others } of this.#queues.values()) {
      yield* leaving;
      yield* others;
    }
  }

  /** In turns, and each out of the queue as it comes; whoever has enough goes on with the next one another time. */
  *taking(): Generator<PodKey> {
    let queues = [...this.#queues.values()].sort((a, b) => a.lastTurn - b.lastTurn || sizeOf(a) - sizeOf(b));
    while (queues.length > 0) {
      for (const queue of queues) {
        if (sizeOf(queue) === 0) continue; // others were taken with somebody
        const [key] = queue.leaving.size > 0 ? queue.leaving : queue.others;
        queue.lastTurn = ++this.#turn;
        this.delete(key!);
        yield key!;
      }
      queues = queues.filter(queue => sizeOf(queue) > 0);
    }
  }
}

function sizeOf({ leaving, others }: Queue): number {
  return leaving.size + others.size;
}
