/**
 * Takes changes of pods in: where they are, and in which groups. A pod of this node never waits. Of the others a flush
 * takes as many as their groups are not too many, of each namespace one in turn:
 *
 *     pods of this node ──────────────────────▶ index, groups
 *     others ─ by namespace, in turns ─ while ─▶ index, groups
 *                                       └ then ▶ the next flush, for which they are as if nothing had been said yet
 *
 * Whoever relabels thousands of pods that a thousand selectors mention waits for itself, and nobody for it.
 */
import { type Cluster, namespaceOfPod, type PodKey } from '../../model/cluster.ts';
import type { LiveGroups } from './groups.ts';
import type { Pieces } from './pieces.ts';
import type { PodIndex } from './podindex.ts';

/** Groups that a flush may ask about pods of other nodes: some 20 ms, and as much of the kernel's (nft/plan/portions.ts). */
export const MOST_ASKED = 20_000;

/** What events have touched. */
export interface Touched {
  readonly pod: Iterable<PodKey>;
  readonly namespace: Iterable<string>;
  readonly node: ReadonlySet<string>;
}

export interface TakenPods {
  /** Of which anything may have changed. */
  readonly changed: Set<PodKey>;
  /** That wait for the next flush, in the order in which they came. */
  readonly left: readonly PodKey[];
}

export class LivePods {
  readonly #cluster: Cluster;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #node: string;

  /** Of the pods of `cluster`, as `node` sees them. */
  constructor(cluster: Cluster, podIndex: PodIndex, groups: LiveGroups, node: string) {
    this.#cluster = cluster;
    this.#podIndex = podIndex;
    this.#groups = groups;
    this.#node = node;
  }

  *take({ pod, namespace, node }: Touched): Pieces<TakenPods> {
    const taken = yield* this.#takePods(pod);
    const others = new Set(this.#podIndex.updateNodes(node));
    for (const name of namespace) for (const { pod } of this.#podIndex.inNamespace(name)) others.add(pod.key);
    for (const key of others) {
      yield* this.#groups.refreshPod(key);
      yield;
    }
    for (const name of node) {
      this.#groups.refreshNode(name);
      yield;
    }
    return { ...taken, changed: new Set([...taken.changed, ...others]) };
  }

  *#takePods(keys: Iterable<PodKey>): Pieces<TakenPods> {
    const { here = [], elsewhere = [] } = Object.groupBy(keys, key =>
      this.#isHere(key) ? 'here' : 'elsewhere',
    );
    const changed = new Set<PodKey>();
    for (const key of here) yield* this.#takePod(key, changed);
    const taken = new Set<PodKey>();
    let asked = 0;
    for (const key of inTurns(elsewhere)) {
      if (asked >= MOST_ASKED) break;
      asked += yield* this.#takePod(key, changed);
      taken.add(key);
    }
    return { changed, left: elsewhere.filter(key => !taken.has(key)) };
  }

  /** Answers how many groups were asked. */
  *#takePod(key: PodKey, changed: Set<PodKey>): Pieces<number> {
    let asked = 0;
    for (const other of this.#podIndex.update(key, this.#cluster.pods.get(key))) {
      asked += yield* this.#groups.refreshPod(other);
      changed.add(other);
      yield;
    }
    return asked;
  }

  /** Or was. */
  #isHere(key: PodKey): boolean {
    const nodes = [this.#cluster.pods.get(key)?.node, this.#podIndex.indexedPod(key)?.pod.node];
    return nodes.includes(this.#node);
  }
}

/** One of each namespace, then the next of each. */
function* inTurns(keys: readonly PodKey[]): Generator<PodKey> {
  let queues = [...Map.groupBy(keys, namespaceOfPod).values()];
  for (let turn = 0; queues.length > 0; turn++) {
    for (const queue of queues) yield queue[turn]!;
    queues = queues.filter(({ length }) => length > turn + 1);
  }
}
