/**
 * Takes changes of pods in: where they are, and in which groups. A pod of this node that comes, goes, or changes its
 * addresses or ports never waits. Of those of this node that say something else, and of all of other nodes, a flush takes as
 * many as their groups are not too many, of each namespace one in turn:
 *
 *     come or gone on this node ───────────────▶ index, groups
 *     others ─ by namespace, in turns (waitingpods.ts) ─ while ─▶ index, groups
 *     of this node, then of other nodes               └ then ▶ the next flush: for this one it is as if
 *                                                              nothing had been said of them yet
 *
 * One of this node, whose classes are to be there as well (podpreparations.ts), may await its allowances meanwhile.
 *
 * Whoever relabels thousands of pods that a thousand selectors mention waits for itself, and nobody for it.
 */

import type { Pieces } from '../../../lib/collections/pieces.ts';
import type { Address } from '../../../model/address.ts';
import { type Cluster, isSelectable, type Pod, type PodKey } from '../../../model/cluster.ts';
import type { LiveGroups } from '../groups/groups.ts';
import type { PodPreparations } from '../preparations/podpreparations.ts';
import type { Slack } from '../slack.ts';
import type { IndexedPod, PodIndex } from './podindex.ts';
import { Relabellings } from './relabellings.ts';
import { WaitingPods } from './waitingpods.ts';

/**
 * Groups that a flush may ask about pods of this node, and about those of other nodes, and pods that it may ask for groups
 * that go ahead of policies (preparations.ts): some 10 ms each, and as much of the kernel's.
 */
export const MOST_ASKED = 4_000;

/** Keys that are sorted between two pieces. */
const MOST_SORTED = 1_000;

/** What events have touched. */
export interface Touched {
  readonly pod: Iterable<PodKey>;
  readonly namespace: ReadonlySet<string>;
  readonly node: ReadonlySet<string>;
}

export class LivePods {
  readonly #cluster: Cluster;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #node: string;
  readonly #preparations: PodPreparations;
  readonly #waitingHere = new WaitingPods();
  readonly #waiting = new WaitingPods();
  readonly #relabellings: Relabellings;

  /** Of the pods of `cluster`, as `node` sees them. */
  constructor(
    cluster: Cluster,
    podIndex: PodIndex,
    groups: LiveGroups,
    node: string,
    preparations: PodPreparations,
  ) {
    this.#preparations = preparations;
    this.#cluster = cluster;
    this.#podIndex = podIndex;
    this.#groups = groups;
    this.#node = node;
    this.#relabellings = new Relabellings(cluster, podIndex, node);
  }

  /** Pods wait for the next time. */
  get isBehind(): boolean {
    return !this.#waitingHere.isEmpty || !this.#waiting.isEmpty;
  }

  /** Each as it has been taken in, or nothing where it has not. */
  waiting(): ReadonlyMap<PodKey, IndexedPod | undefined> {
    const keys = [...this.#waitingHere.all(), ...this.#waiting.all(), ...this.#relabellings.behind()];
    return new Map(keys.map(key => [key, this.#podIndex.indexedPod(key)]));
  }

  /** Of those that can wait, as many as there is time for. Answers the pods of which anything may have changed. */
  *take({ pod, namespace, node }: Touched, slack: Slack): Pieces<Set<PodKey>> {
    const changed = new Set<PodKey>();
    const here = yield* this.#sort(pod);
    for (const key of yield* this.#relabel(namespace)) this.#waitingHere.add(key, 'relabelled');
    for (const key of here) {
      this.#waitingHere.delete(key);
      this.#waiting.delete(key);
      this.#preparations.forget(key);
      yield* this.#takePod(key, changed);
    }
    yield* this.#takeHere(changed, slack);
    yield* this.#takeInTurns(changed, slack);
    yield* this.#wait(this.#relabellings.end());
    for (const key of this.#podIndex.updateNodes(node)) {
      changed.add(key);
      yield* this.#groups.refreshPod(key);
      yield;
    }
    for (const name of node) {
      this.#groups.refreshNode(name);
      yield;
    }
    return changed;
  }

  /** Answers those of this node that cannot wait; the others wait for their turn. */
  *#sort(keys: Iterable<PodKey>): Pieces<Set<PodKey>> {
    const here = new Set<PodKey>();
    let sorted = 0;
    for (const key of keys) {
      if (this.#saysSomethingElse(key)) this.#waitingHere.add(key, 'changed');
      else if (this.#isHere(key)) here.add(key);
      else this.#waiting.add(key, this.#leaves(key) ? 'leaving' : 'changed');
      if (++sorted % MOST_SORTED === 0) yield;
    }
    return here;
  }

  /** Answers the pods of this node that are in one of the namespaces; the others wait for their turn. */
  *#relabel(names: ReadonlySet<string>): Pieces<PodKey[]> {
    for (const name of names) yield* this.#wait(this.#relabellings.begin(name));
    const local = names.size === 0 ? [] : [...this.#podIndex.onNode(this.#node)];
    return local.flatMap(({ pod }) => (names.has(pod.namespace) ? [pod.key] : []));
  }

  *#wait(keys: Iterable<PodKey>): Pieces<void> {
    let waiting = 0;
    for (const key of keys) {
      this.#waiting.add(key, 'relabelled');
      if (++waiting % MOST_SORTED === 0) yield;
    }
  }

  /** Whoever needs classes that are not there yet has another turn. */
  *#takeHere(changed: Set<PodKey>, slack: Slack): Pieces<void> {
    const left: PodKey[] = [];
    let asked = 0;
    try {
      for (const key of this.#waitingHere.taking()) {
        const pod = this.#cluster.pods.get(key)!;
        const namespace = this.#relabellings.around(pod);
        const { as, waits, asks } = this.#preparations.admit({ pod, namespace }, slack.most());
        if (waits) left.push(key);
        asked += asks + (as === undefined ? 0 : yield* this.#takePod(key, changed, as));
        if (asked >= slack.most()) break;
        yield;
      }
    } finally {
      for (const key of left) this.#waitingHere.add(key, 'changed');
    }
    this.#preparations.prepare();
  }

  *#takeInTurns(changed: Set<PodKey>, slack: Slack): Pieces<void> {
    let asked = 0;
    for (const key of this.#waiting.taking()) {
      asked += yield* this.#takePod(key, changed);
      if (asked >= slack.most()) return;
    }
  }

  /** Answers how many groups were asked. Whoever had one of its addresses is taken with it, and not taken for it. */
  *#takePod(key: PodKey, changed: Set<PodKey>, as = this.#cluster.pods.get(key)): Pieces<number> {
    let asked = 0;
    for (const address of this.#cluster.pods.get(key)?.addresses ?? [])
      for (let left = this.#leftBy(address, key); left !== undefined; left = this.#leftBy(address, key)) {
        this.#waiting.delete(left);
        asked += yield* this.#takeAlone(left, changed);
      }
    return asked + (yield* this.#takeAlone(key, changed, as));
  }

  /** The pod that has left the address, as far as it waits for its turn. */
  #leftBy(address: Address, successor: PodKey): PodKey | undefined {
    const owner = this.#podIndex.ownerOf(address)?.key;
    return owner !== undefined && owner !== successor && this.#waiting.isLeaving(owner) ? owner : undefined;
  }

  *#takeAlone(key: PodKey, changed: Set<PodKey>, pod = this.#cluster.pods.get(key)): Pieces<number> {
    let asked = 0;
    for (const other of this.#podIndex.update(key, pod, pod && this.#relabellings.around(pod))) {
      asked += yield* this.#groups.refreshPod(other);
      changed.add(other);
      yield;
    }
    return asked;
  }

  /** A pod of this node that is where it was, and what it was but for its labels. */
  #saysSomethingElse(key: PodKey): boolean {
    const [before, now] = [this.#podIndex.indexedPod(key)?.pod, this.#cluster.pods.get(key)];
    if (before === undefined || now === undefined || !isSelectable(now)) return false;
    const told = ({ node, addresses, ports }: Pod) => JSON.stringify([node, addresses, ports]);
    return now.node === this.#node && told(before) === told(now);
  }

  /** Or was. */
  #isHere(key: PodKey): boolean {
    const nodes = [this.#cluster.pods.get(key)?.node, this.#podIndex.indexedPod(key)?.pod.node];
    return nodes.includes(this.#node);
  }

  /** It is gone, or has lost an address: another pod may have that soon, and nothing of what this one was allowed. */
  #leaves(key: PodKey): boolean {
    const [before, now] = [this.#podIndex.indexedPod(key), this.#cluster.pods.get(key)];
    if (before === undefined) return false;
    if (now === undefined || !isSelectable(now)) return true;
    return before.pod.addresses.some(address => !now.addresses.includes(address));
  }
}
