/**
 * Namespaces that are relabelled while they have many pods on other nodes. Each pod is taken in again when it has its
 * turn, and until then its namespace is to it what it was:
 *
 *     relabelled ─▶ its pods wait ─▶ one by one they are taken in, with the labels of this relabelling ─▶ none is left
 *                       ▲                                                                                   │
 *                       └────────────── relabelled again meanwhile: all of them, once more ◀────────────────┘
 *
 * However often it is relabelled, its pods know it by three kinds of labels at most: those from before, those that they are
 * about to have, and the newest, which pods of this node always have.
 */
import { type Cluster, type Namespace, namespaceOf, type Pod, type PodKey } from '../../../model/cluster.ts';
import type { PodIndex } from './podindex.ts';

interface Relabelling {
  /** With which pods of other nodes are taken in until it ends. */
  readonly target: Namespace;
  /** As the last flush had it. */
  latest: Namespace;
}

export class Relabellings {
  readonly #cluster: Cluster;
  readonly #podIndex: PodIndex;
  readonly #node: string;
  readonly #underWay = new Map<string, Relabelling>();

  constructor(cluster: Cluster, podIndex: PodIndex, node: string) {
    this.#cluster = cluster;
    this.#podIndex = podIndex;
    this.#node = node;
  }

  /** The namespace as a pod is to be taken in with it. */
  around({ namespace, node }: Pod): Namespace {
    const target = node === this.#node ? undefined : this.#underWay.get(namespace)?.target;
    return target ?? namespaceOf(this.#cluster, namespace);
  }

  /** A namespace has changed; answers the pods of other nodes that have to wait for a turn by it. */
  begin(name: string): Iterable<PodKey> {
    const latest = namespaceOf(this.#cluster, name);
    const underWay = this.#underWay.get(name);
    if (underWay === undefined) return this.#start(name, latest);
    underWay.latest = latest;
    return [];
  }

  /** Ends those of which no pod is left; answers the pods that wait for the next one of their namespace. */
  *end(): Generator<PodKey> {
    for (const [name, { target, latest }] of [...this.#underWay]) {
      if (!this.#isDone(target)) continue;
      this.#underWay.delete(name);
      yield* this.#start(name, latest);
    }
  }

  /** Pods of other nodes that know their namespace as it was. */
  *behind(): Generator<PodKey> {
    for (const { latest } of this.#underWay.values()) yield* this.#othersThan(latest);
  }

  #start(name: string, target: Namespace): Iterable<PodKey> {
    if (this.#isDone(target)) return [];
    this.#underWay.set(name, { target, latest: target });
    return this.#othersThan(target);
  }

  #isDone(target: Namespace): boolean {
    return this.#othersThan(target).next().done === true;
  }

  *#othersThan(namespace: Namespace): Generator<PodKey> {
    for (const { pod } of this.#podIndex.inOther(namespace)) if (pod.node !== this.#node) yield pod.key;
  }
}
