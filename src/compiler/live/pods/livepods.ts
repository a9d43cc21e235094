/**
 * Takes changes of pods in: where they are, and in which groups. A pod of this node that comes, goes, or changes its
 * addresses or ports never waits. Of those of this node that say something else, and of all of other nodes, a flush takes as
 * many as their groups are not too many, of each namespace one in turn:
 *
 *     come or gone on this node ───────────────▶ index, groups
 *     others ─ by namespace, in turns (WaitingPods) ── while ─▶ index, groups
 *     of this node, then of other nodes               └ then ▶ the next flush: for this one it is as if
 *                                                              nothing had been said of them yet
 *
 * One of this node, whose classes are to be there as well (podpreparations.ts), may await its allowances meanwhile.
 *
 * Whoever relabels thousands of pods that a thousand selectors mention waits for itself, and nobody for it.
 */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Pieces } from '../../../lib/collections/pieces.ts';
import type { Address } from '../../../model/address.ts';
import {
  type Cluster,
  isSelectable,
  type Namespace,
  namespaceOf,
  namespaceOfPod,
  type Pod,
  type PodKey,
} from '../../../model/cluster.ts';
import type { LiveGroups } from '../groups/groups.ts';
import type { PodPreparations } from '../preparations/podpreparations.ts';
import type { WorkBudget } from '../workbudget.ts';
import type { IndexedPod, PodIndex } from './podindex.ts';

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
  *take({ pod, namespace, node }: Touched, budget: WorkBudget): Pieces<Set<PodKey>> {
    const changed = new Set<PodKey>();
    const here = yield* this.#sort(pod);
    for (const key of yield* this.#relabel(namespace)) this.#waitingHere.add(key, 'relabelled');
    for (const key of here) {
      this.#waitingHere.delete(key);
      this.#waiting.delete(key);
      this.#preparations.forget(key);
      yield* this.#takePod(key, changed);
    }
    yield* this.#takeHere(changed, budget);
    yield* this.#takeInTurns(changed, budget);
    yield* this.#wait(this.#relabellings.end());
    for (const [key, before] of this.#podIndex.updateNodes(node)) {
      changed.add(key);
      yield* this.#groups.refreshPod(key, before);
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
    const local = names.size === 0 ? [] : [...this.#podIndex.local()];
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
  *#takeHere(changed: Set<PodKey>, budget: WorkBudget): Pieces<void> {
    const left: PodKey[] = [];
    let asked = 0;
    try {
      for (const key of this.#waitingHere.taking()) {
        const pod = this.#cluster.pods.get(key)!;
        const namespace = this.#relabellings.around(pod);
        const { as, waits, asks } = this.#preparations.admit({ pod, namespace }, budget.most());
        if (waits) left.push(key);
        asked += asks + (as === undefined ? 0 : yield* this.#takePod(key, changed, as));
        if (asked >= budget.most()) break;
        yield;
      }
    } finally {
      for (const key of left) this.#waitingHere.add(key, 'changed');
    }
    this.#preparations.prepare();
  }

  *#takeInTurns(changed: Set<PodKey>, budget: WorkBudget): Pieces<void> {
    let asked = 0;
    for (const key of this.#waiting.taking()) {
      asked += yield* this.#takePod(key, changed);
      if (asked >= budget.most()) return;
    }
  }

  /** Answers how many groups were asked. Whoever had one of its addresses is taken with it, and not taken for it. */
  *#takePod(key: PodKey, changed: Set<PodKey>, as = this.#cluster.pods.get(key)): Pieces<number> {
    let asked = 0;
    const now = this.#cluster.pods.get(key);
    const comes = now !== this.#podIndex.indexedPod(key)?.pod; // and not its namespace alone is another
    for (const address of (comes && now?.addresses) || [])
      for (let left = this.#leftBy(address, key); left !== undefined; left = this.#leftBy(address, key)) {
        this.#waiting.delete(left);
        asked += yield* this.#takeAlone(left, changed);
      }
    return asked + (yield* this.#takeAlone(key, changed, as));
  }

  /** The pod that had the address before this successor, if its own change still waits for a later commit. */
  #leftBy(address: Address, successor: PodKey): PodKey | undefined {
    const owner = this.#podIndex.ownerOf(address)?.key;
    return owner !== undefined && owner !== successor && this.#waiting.isLeaving(owner) ? owner : undefined;
  }

  *#takeAlone(key: PodKey, changed: Set<PodKey>, pod = this.#cluster.pods.get(key)): Pieces<number> {
    let asked = 0;
    for (const [other, before] of this.#podIndex.update(key, pod, pod && this.#relabellings.around(pod))) {
      asked += yield* this.#groups.refreshPod(other, before);
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

interface Relabelling {
  /** With which pods of other nodes are taken in until it ends. */
  readonly target: Namespace;
  /** As the last flush had it. */
  latest: Namespace;
}

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

/** Why it waits: it leaves addresses, says something else of itself, or its namespace does. */
type WaitingKind = 'leaving' | 'changed' | 'relabelled';

const KINDS: readonly WaitingKind[] = ['leaving', 'changed', 'relabelled'];

/**
 * Pods that wait for their turn: of each namespace one after the other, beginning with the namespace whose last turn is
 * longest ago, and of those that had none with the one of which the fewest wait, so that no backlog is anybody's but its
 * own. Of a namespace one in turn of each kind, so that none of them waits without end for others that come and come:
 * first of those that leave addresses.
 */
class WaitingPods {
  /** By namespace; none is empty. */
  readonly #queues = new Map<string, Queue>();
  #turn = 0;

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  add(key: PodKey, kind: WaitingKind): void {
    getOrMake(this.#queues, namespaceOfPod(key), () => new Queue()).add(key, kind);
  }

  isLeaving(key: PodKey): boolean {
    return this.#queues.get(namespaceOfPod(key))?.pods.leaving.has(key) ?? false;
  }

  delete(key: PodKey): void {
    const namespace = namespaceOfPod(key);
    const queue = this.#queues.get(namespace);
    if (queue === undefined) return;
    for (const kind of KINDS) queue.pods[kind].delete(key);
    if (queue.size === 0) this.#queues.delete(namespace);
  }

  *all(): Generator<PodKey> {
    for (const { pods } of this.#queues.values()) for (const kind of KINDS) yield* pods[kind];
  }

  /** In turns, and each out of the queue as it comes; whoever has enough goes on with the next one another time. */
  *taking(): Generator<PodKey> {
    let queues = [...this.#queues].sort(([, a], [, b]) => a.lastTurn - b.lastTurn || a.size - b.size);
    while (queues.length > 0) {
      for (const [namespace, queue] of queues) {
        if (queue.size === 0) continue; // others were taken with somebody
        queue.lastTurn = ++this.#turn;
        const key = queue.take();
        if (queue.size === 0) this.#queues.delete(namespace);
        yield key;
      }
      queues = queues.filter(([, queue]) => queue.size > 0);
    }
  }
}

/** Pods of one namespace that wait, by the reason why. */
class Queue {
  readonly pods = { leaving: new Set<PodKey>(), changed: new Set<PodKey>(), relabelled: new Set<PodKey>() };
  /** How far `take` is in each: a Set keeps the places of what was deleted, and whoever begins anew passes all of them. */
  readonly #ahead: Partial<Record<WaitingKind, SetIterator<PodKey>>> = {};
  /** The number of its last turn, of all; 0 before the first. */
  lastTurn = 0;
  /** How many turns it had. */
  #turns = 0;

  get size(): number {
    return this.pods.leaving.size + this.pods.changed.size + this.pods.relabelled.size;
  }

  /** Whoever waits already keeps its place, unless it waits for something else now. What it says itself comes before what its namespace says. */
  add(key: PodKey, kind: WaitingKind): void {
    const { pods } = this;
    if (kind === 'relabelled' && (pods.leaving.has(key) || pods.changed.has(key))) return;
    for (const other of KINDS) if (other !== kind) pods[other].delete(key);
    pods[kind].add(key);
  }

  /** Takes one out, of each kind in turn; there has to be one. */
  take(): PodKey {
    for (;;) {
      const kind = KINDS[this.#turns++ % KINDS.length]!;
      const pods = this.pods[kind];
      if (pods.size === 0) continue;
      let next = this.#ahead[kind]?.next();
      if (next?.value === undefined) {
        this.#ahead[kind] = pods.values(); // an iterator that has come to its end does not see what is added later
        next = this.#ahead[kind].next();
      }
      const key = next.value!;
      pods.delete(key);
      return key;
    }
  }
}
