/**
 * Applies changes of pods to the pod index and to the peer groups. A pod of this node that comes, goes, or changes its
 * addresses or ports is applied at once. Pods of this node of which only labels have changed, and pods of other nodes,
 * may wait: a flush applies as many as its work budget allows, one of each namespace in turn.
 *
 *     come or gone on this node ───────────────▶ index, groups
 *     others ─ by namespace, in turns (WaitingPods) ── within the budget ─▶ index, groups
 *     of this node, then of other nodes               └ beyond it ────────▶ the next flush; in this one
 *                                                                           the pods are as they were
 *
 * A pod of this node also needs classes that are prepared (podpreparations.ts); meanwhile it may be isolated only.
 *
 * So a tenant that relabels thousands of pods which a thousand selectors mention delays its own pods, and no others.
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
 * The work budget of a flush: look-ups of pods of this node in groups, the same of pods of other nodes, and pods that
 * are looked at to fill groups that policies will need (preparations.ts). Each takes some 10 ms, and as long in the
 * kernel.
 */
export const MOST_LOOKUPS = 4_000;

/** How many keys are sorted between two pieces. */
const MOST_SORTED = 1_000;

/** The objects that events have changed. */
export interface ChangedObjects {
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

  /** `cluster` is the cluster as `node` sees it. */
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

  /** Whether pods wait for a later flush. */
  get isBehind(): boolean {
    return !this.#waitingHere.isEmpty || !this.#waiting.isEmpty;
  }

  /** The pods that wait, each as it was applied last; undefined for a pod that was not applied before. */
  waiting(): ReadonlyMap<PodKey, IndexedPod | undefined> {
    const keys = [...this.#waitingHere.all(), ...this.#waiting.all(), ...this.#relabellings.behind()];
    return new Map(keys.map(key => [key, this.#podIndex.indexedPod(key)]));
  }

  /** Applies the changes, as far as the budget allows. Returns the pods of which anything may have changed. */
  *take({ pod, namespace, node }: ChangedObjects, budget: WorkBudget): Pieces<Set<PodKey>> {
    const changed = new Set<PodKey>();
    const here = yield* this.#sort(pod);
    if (namespace.size > 0)
      for (const key of yield* this.#relabel(namespace)) this.#waitingHere.add(key, 'relabelled');
    for (const key of here) {
      this.#waitingHere.delete(key);
      this.#waiting.delete(key);
      this.#preparations.forget(key);
      yield* this.#takePod(key, changed);
    }
    if (!this.#waitingHere.isEmpty || this.#preparations.isBusy) yield* this.#takeHere(changed, budget);
    yield* this.#takeInTurns(changed, budget);
    if (this.#relabellings.areUnderWay) yield* this.#wait(this.#relabellings.end());
    if (node.size > 0) yield* this.#refreshNodes(node, changed);
    return changed;
  }

  *#refreshNodes(names: ReadonlySet<string>, changed: Set<PodKey>): Pieces<void> {
    for (const [key, before] of this.#podIndex.updateNodes(names)) {
      changed.add(key);
      yield* this.#groups.refreshPod(key, before);
      yield;
    }
    for (const name of names) {
      this.#groups.refreshNode(name);
      yield;
    }
  }

  /** Returns the pods of this node that cannot wait; the others are queued. */
  *#sort(keys: Iterable<PodKey>): Pieces<Set<PodKey>> {
    const here = new Set<PodKey>();
    let sorted = 0;
    for (const key of keys) {
      const [before, now] = [this.#podIndex.indexedPod(key)?.pod, this.#cluster.pods.get(key)];
      if (before?.node !== this.#node && now?.node !== this.#node)
        this.#waiting.add(key, before !== undefined && leaves(before, now) ? 'leaving' : 'changed');
      else if (before !== undefined && now !== undefined && changedLabelsOnly(before, now))
        this.#waitingHere.add(key, 'changed');
      else here.add(key);
      if (++sorted % MOST_SORTED === 0) yield;
    }
    return here;
  }

  /** Returns the pods of this node in these namespaces; pods of other nodes are queued. */
  *#relabel(names: ReadonlySet<string>): Pieces<PodKey[]> {
    for (const name of names) yield* this.#wait(this.#relabellings.begin(name));
    const local = [...this.#podIndex.local()];
    return local.flatMap(({ pod }) => (names.has(pod.namespace) ? [pod.key] : []));
  }

  *#wait(keys: Iterable<PodKey>): Pieces<void> {
    let waiting = 0;
    for (const key of keys) {
      this.#waiting.add(key, 'relabelled');
      if (++waiting % MOST_SORTED === 0) yield;
    }
  }

  /** Pods whose classes are not prepared yet stay in the queue. */
  *#takeHere(changed: Set<PodKey>, budget: WorkBudget): Pieces<void> {
    const left: PodKey[] = [];
    let asked = 0;
    try {
      for (const key of this.#waitingHere.taking()) {
        const pod = this.#cluster.pods.get(key)!;
        const namespace = this.#relabellings.around(pod);
        const { as, waits, lookedAt } = this.#preparations.admit({ pod, namespace }, budget.most());
        if (waits) left.push(key);
        asked += lookedAt + (as === undefined ? 0 : yield* this.#takePod(key, changed, as));
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

  /** Returns how many groups were looked up. Pods that gave up this pod's addresses are applied first. */
  *#takePod(key: PodKey, changed: Set<PodKey>, as = this.#cluster.pods.get(key)): Pieces<number> {
    let asked = 0;
    const now = this.#cluster.pods.get(key);
    const comes = now !== this.#podIndex.indexedPod(key)?.pod; // the pod itself has changed, and not only its namespace
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
}

/** Whether only labels of a pod have changed. */
function changedLabelsOnly(before: Pod, now: Pod): boolean {
  const told = ({ node, addresses, ports }: Pod) => JSON.stringify([node, addresses, ports]);
  return isSelectable(now) && told(before) === told(now);
}

/**
 * Whether the pod is gone or has lost an address: another pod may get the address soon, and must not inherit what
 * this pod was allowed.
 */
function leaves(before: Pod, now: Pod | undefined): boolean {
  if (now === undefined || !isSelectable(now)) return true;
  return before.addresses.some(address => !now.addresses.includes(address));
}

interface Relabelling {
  /** The namespace as pods of other nodes are applied with it until the relabelling ends. */
  readonly target: Namespace;
  /** The namespace as of the last flush. */
  latest: Namespace;
}

/**
 * Namespaces whose labels changed while they have many pods on other nodes. Each pod is applied again in its turn, and
 * is selected by the namespace's former labels until then:
 *
 *     relabelled ─▶ its pods wait ─▶ one by one they are applied with the labels of this relabelling ─▶ none is left
 *                       ▲                                                                                 │
 *                       └───────────── relabelled again meanwhile: all of them, once more ◀───────────────┘
 *
 * However often a namespace is relabelled, its pods have it in three versions at most: the former labels, those of the
 * relabelling in progress, and the newest, which pods of this node always have.
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

  get areUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  /** The namespace with which the pod is to be applied. */
  around({ namespace, node }: Pod): Namespace {
    const target = node === this.#node ? undefined : this.#underWay.get(namespace)?.target;
    return target ?? namespaceOf(this.#cluster, namespace);
  }

  /** A namespace's labels have changed. Returns the pods of other nodes that have to wait for their turn. */
  begin(name: string): Iterable<PodKey> {
    const latest = namespaceOf(this.#cluster, name);
    const underWay = this.#underWay.get(name);
    if (underWay === undefined) return this.#start(name, latest);
    underWay.latest = latest;
    return [];
  }

  /** Ends relabellings for which no pod waits. Returns the pods that wait for their namespace's next one. */
  *end(): Generator<PodKey> {
    for (const [name, { target, latest }] of [...this.#underWay]) {
      if (!this.#isDone(target)) continue;
      this.#underWay.delete(name);
      yield* this.#start(name, latest);
    }
  }

  /** Pods of other nodes that were applied with former labels of their namespace. */
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

/** Why a pod waits: it gives up addresses, has changed in another way, or its namespace was relabelled. */
type WaitingKind = 'leaving' | 'changed' | 'relabelled';

const KINDS: readonly WaitingKind[] = ['leaving', 'changed', 'relabelled'];

/**
 * Pods that wait for their turn. Namespaces take turns: the one whose last turn is longest ago comes first, and of
 * those that had none the one with the fewest waiting pods, so that a backlog delays its own namespace only. Within a
 * namespace the three kinds take turns, beginning with pods that give up addresses, so that no kind waits without end.
 */
class WaitingPods {
  /** Queues by namespace; a queue that becomes empty is deleted. */
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

  /** Yields pods in turns, and takes each out of its queue. */
  *taking(): Generator<PodKey> {
    let queues = [...this.#queues].sort(([, a], [, b]) => a.lastTurn - b.lastTurn || a.size - b.size);
    while (queues.length > 0) {
      for (const [namespace, queue] of queues) {
        if (queue.size === 0) continue; // the others of the queue were applied together with a pod of another queue
        queue.lastTurn = ++this.#turn;
        const key = queue.take();
        if (queue.size === 0) this.#queues.delete(namespace);
        yield key;
      }
      queues = queues.filter(([, queue]) => queue.size > 0);
    }
  }
}

/** The waiting pods of one namespace, by the reason why they wait. */
class Queue {
  readonly pods = { leaving: new Set<PodKey>(), changed: new Set<PodKey>(), relabelled: new Set<PodKey>() };
  /** How far `take` is in each Set. A new iterator would visit the places of all deleted entries again. */
  readonly #iterators: Partial<Record<WaitingKind, SetIterator<PodKey>>> = {};
  /** The number of its last turn among all turns; 0 before the first. */
  lastTurn = 0;
  /** How many turns the namespace has had. */
  #turns = 0;

  get size(): number {
    return this.pods.leaving.size + this.pods.changed.size + this.pods.relabelled.size;
  }

  /**
   * A pod that waits already keeps its place, unless it waits for another reason now. A change of the pod takes
   * precedence over a change of its namespace.
   */
  add(key: PodKey, kind: WaitingKind): void {
    const { pods } = this;
    if (kind === 'relabelled' && (pods.leaving.has(key) || pods.changed.has(key))) return;
    for (const other of KINDS) if (other !== kind) pods[other].delete(key);
    pods[kind].add(key);
  }

  /** Takes out a pod, of each kind in turn. The queue must not be empty. */
  take(): PodKey {
    for (;;) {
      const kind = KINDS[this.#turns++ % KINDS.length]!;
      const pods = this.pods[kind];
      if (pods.size === 0) continue;
      let next = this.#iterators[kind]?.next();
      if (next?.value === undefined) {
        this.#iterators[kind] = pods.values(); // an iterator that has ended does not see later entries
        next = this.#iterators[kind].next();
      }
      const key = next.value!;
      pods.delete(key);
      return key;
    }
  }
}
