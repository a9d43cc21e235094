/**
 * Changes of policies that are not in a batch yet. No change waits for another namespace's large one:
 *
 *     small ──────────────────────────────▶ each batch takes as many as a namespace may have at once, the least first
 *     large, by namespace ─ in turns ─────▶ a batch takes some of one namespace, in half of the time at most
 *       └ new ones that stay behind isolate what they select in the very batch that they are not part of
 *
 * Where the rules of a namespace's pods are large (`isOversized`), every change of it counts as large, and those that are
 * ready go together.
 *
 * A policy is compiled by itself, so that a small one beside a large one stays small. A change that waits leaves the previous
 * version in force, so that every batch is what `compile` makes of a cluster that once was, or could have been.
 */
import { KeyedRates, type Rate } from '../../lib/fairness/rates.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import type { WaitingPolicy } from '../../model/policystatus.ts';
import type { WaitingChange } from '../scheduler.ts';
import { isIsolating, isMany, isolatedBy, isolating, mayIsolate, type Pending, pendingOf } from './change.ts';
import { FAIRNESS } from './limits.ts';

/**
 * Whether a change costs a batch no more than its own text suggests, because everything that its peers need is
 * prepared.
 */
export type IsReady = (change: PolicyChange) => boolean;

/** Costs of a change that are known before it is taken from the queue. */
export interface CostEstimate {
  /** How many pods of the cluster have to be asked for a change, if nothing of it is ready. */
  countLookedAt(change: PolicyChange): number;
  /** Whether changes of the namespace's policies are prepared and taken together, even small ones. */
  isOversized(namespace: string): boolean;
}

export const NO_ESTIMATE: CostEstimate = { countLookedAt: () => 0, isOversized: () => false };

const ALL_READY: IsReady = () => true;

/**
 * Changes that tighten policy may exceed the budget of commits. Each namespace has a ration for that, so that a
 * namespace that tightens all the time waits like the others and does not use up their share.
 */
export const RATION: Rate = { burst: 5, perSecond: 3 };
/** With more namespaces than this, those whose ration is full are forgotten. */
const MOST_RATIONS = 1000;

/** Each namespace may have one edit taken in this time although it is not ready. */
const OVERDUE: Rate = { burst: 1, perSecond: 1000 / FAIRNESS.overdueMs };

/** The turn of a namespace is forgotten after this many others had theirs. */
const MOST_TURNS = 10_000;

export class AdmissionQueue {
  readonly #estimate: CostEstimate;
  /** Waiting changes; those that have waited longest come first. */
  readonly #pending = new Map<PolicyId, Pending>();
  /** The number of each namespace's last turn. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  /** Namespaces in which a pod has started since the last batch: a new policy must not come after it. */
  readonly #starting = new Set<string>();
  readonly #rations = new KeyedRates(RATION);
  readonly #overdue = new KeyedRates(OVERDUE, MOST_RATIONS);
  #largeAtMs = Number.NEGATIVE_INFINITY;
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #tookLarge = false;
  /**
   * Small changes went without a large one although that was due. This must not happen twice in a row, or large ones
   * would never go.
   */
  #smallWentAlone = false;

  constructor(estimate = NO_ESTIMATE) {
    this.#estimate = estimate;
  }

  get size(): number {
    return this.#pending.size;
  }

  has(id: PolicyId): boolean {
    return this.#pending.has(id);
  }

  /** Waiting policies; those that have waited longest come first. */
  statuses(): WaitingPolicy[] {
    return [...this.#pending.values()].map(change => ({
      id: change.id,
      kind: isIsolating(change) ? 'isolating' : 'pending',
      change: change.isNew ? 'new' : change.value === undefined ? 'deletion' : 'edit',
      sinceMs: change.sinceMs,
    }));
  }

  /** Policies that isolate what they select, and whose allow rules wait. */
  get isolating(): ReadonlySet<PolicyId> {
    return new Set([...this.#pending.values()].filter(isIsolating).map(({ id }) => id));
  }

  /**
   * `before` is the version in force. Edits of one policy become one change, which keeps its place. Returns whether
   * some of the change may be in the next batch, apart from the preparation that it needs.
   */
  enqueue({ id, value }: PolicyChange, before: Policy | undefined, nowMs: number, lookedAt = 0): boolean {
    const pending = pendingOf({ id, value }, { before, nowMs, lookedAt, waiting: this.#pending.get(id) });
    this.#pending.set(id, pending);
    return this.#isSmall(pending) || mayIsolate(pending);
  }

  /** A pod has started in the namespace. */
  podStarted(namespace: string): void {
    if (this.#pending.size > 0) this.#starting.add(namespace);
  }

  /** The changes that could be taken, and from which time; undefined if no change waits. */
  waiting(nowMs: number): WaitingChange | undefined {
    const changes = [...this.#pending.values()];
    const [oldest] = changes;
    if (oldest === undefined) return undefined;
    const first = changes.find(
      change => this.#isSmall(change) || mayIsolate(change) || this.#mustNotWait(change),
    );
    const atMs = first?.sinceMs ?? Math.max(oldest.sinceMs, this.#largeAtMs);
    const priority = this.#tightening(nowMs).size > 0 ? 'tightening' : 'normal';
    // Changes that a batch left behind must not use up the advance of urgent changes.
    return { atMs, sinceMs: Math.max(atMs, this.#takenAtMs), priority };
  }

  /** Takes a policy's change out of the queue; returns the wanted version if the change waited. */
  withdraw(id: PolicyId): PolicyChange | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending && { id, value: pending.value };
  }

  takeAll(): PolicyChange[] {
    return this.#take([...this.#pending.values()]);
  }

  takeShare(nowMs: number, isReady = ALL_READY): PolicyChange[] {
    if (this.size === 0) return [];
    const [first, others] = partition(this.#pending.values(), change => this.#mustNotWait(change));
    const [small, large] = partition(others, change => this.#isSmall(change));
    const atOnce = [...first, ...ofEveryNamespace(small, nowMs)];
    const turn = this.#largeTurn(large, atOnce.length > 0, nowMs, isReady);
    this.#tookLarge = turn.length > 0;
    this.#takenAtMs = nowMs;
    for (const namespace of this.#tightening(nowMs)) this.#rations.take(namespace, nowMs);
    if (this.#rations.size > MOST_RATIONS) this.#rations.forgetFullBuckets(nowMs);
    const starting = new Set(this.#starting);
    const taken = this.#take([...atOnce, ...turn]);
    return [...taken, ...this.#isolate(nowMs, starting)];
  }

  /** The batch of the last changes took this time: large changes pause for as long, so that others get as much. */
  took(tookMs: number, nowMs: number): void {
    if (this.#tookLarge) this.#largeAtMs = nowMs + Math.min(tookMs, FAIRNESS.mostPauseMs);
    this.#tookLarge = false;
  }

  /**
   * The changes that are to be prepared for later batches. Prepared changes stay prepared. Each other namespace has its
   * next change prepared, against the policies that will be in force when it is taken. All changes of an oversized
   * namespace wait for their turn, and some of them are prepared together.
   */
  toPrepare(nowMs: number, isReady: IsReady): PolicyChange[] {
    if (this.size === 0) return [];
    const large = [...this.#pending.values()].filter(change => !this.#isSmall(change));
    const [ready, others] = partition(large, isReady);
    const isServed = new Set(ready.map(({ namespace }) => namespace));
    const waiting = others.filter(({ namespace }) => !isServed.has(namespace));
    const next = [...Map.groupBy(waiting, ({ namespace }) => namespace)].flatMap(([namespace, its]) => {
      const inTurn = its.sort((a, b) => precedence(a, b, nowMs));
      return this.#estimate.isOversized(namespace) ? inTurn : inTurn.slice(0, 1);
    });
    return [...ready, ...next].map(({ id, value }) => ({ id, value }));
  }

  #take(chosen: readonly Pending[]): PolicyChange[] {
    for (const { id } of chosen) this.#pending.delete(id);
    this.#starting.clear();
    return chosen.map(({ id, value }) => ({ id, value }));
  }

  /** The namespaces that may go beyond the budget of commits: they tighten, and have some of their rations left. */
  #tightening(nowMs: number): ReadonlySet<string> {
    const namespaces = new Set<string>();
    for (const change of this.#pending.values())
      if (mayIsolate(change) || (change.tightens && this.#isSmall(change))) namespaces.add(change.namespace);
    for (const namespace of namespaces)
      if (this.#rations.level(namespace, nowMs) < 1) namespaces.delete(namespace);
    return namespaces;
  }

  /** The large changes that a batch takes, depending on whether it also has small ones. */
  #largeTurn(large: readonly Pending[], isBesideSmall: boolean, nowMs: number, isReady: IsReady): Pending[] {
    const [ready, unready] = partition(large, change => isReady(change) || this.#mayGoUnready(change, nowMs));
    const overdue = unready.find(change => this.#isOverdue(change, nowMs));
    const isDue = (ready.length > 0 || overdue !== undefined) && nowMs >= this.#largeAtMs;
    this.#smallWentAlone = isDue && isBesideSmall && !this.#smallWentAlone;
    if (!isDue || this.#smallWentAlone) return [];
    const turn = this.#ofNextNamespace(overdue === undefined ? ready : [...ready, overdue], nowMs);
    if (overdue !== undefined && turn.includes(overdue)) this.#overdue.take(overdue.namespace, nowMs);
    return turn;
  }

  #ofNextNamespace(large: readonly Pending[], nowMs: number): Pending[] {
    const lastTurn = ({ namespace }: Pending) => this.#turns.get(namespace) ?? -1;
    const late = large.find(change => isLate(change, nowMs));
    const { namespace } =
      late ?? large.toSorted((a, b) => lastTurn(a) - lastTurn(b) || a.sinceMs - b.sinceMs)[0]!;
    this.#turns.set(namespace, ++this.#turn);
    for (const [other, turn] of this.#turns) if (turn <= this.#turn - MOST_TURNS) this.#turns.delete(other);
    const its = large.filter(change => change.namespace === namespace);
    return this.#estimate.isOversized(namespace) ? its : ofOneNamespace(its, nowMs);
  }

  /**
   * New policies that have to wait isolate first: they keep their places, and their allow rules follow in their turn.
   * In namespaces in which pods have started, all of them isolate, however many.
   */
  #isolate(nowMs: number, starting: ReadonlySet<string>): PolicyChange[] {
    const left = [...this.#pending.values()].filter(mayIsolate).map(isolating);
    const [urgent, others] = partition(left, ({ namespace }) => starting.has(namespace));
    return [...urgent, ...ofEveryNamespace(others, nowMs)].map(({ id, value }) => {
      this.#pending.set(id, isolatedBy(value, this.#pending.get(id)!));
      return { id, value };
    });
  }

  /** A new policy of the whole cluster cannot isolate ahead: it goes whole with a pod that starts. */
  #mustNotWait({ namespace, isNew }: Pending): boolean {
    return isNew && namespace === '' && this.#starting.size > 0;
  }

  #isSmall({ weight, namespace }: Pending): boolean {
    return weight <= FAIRNESS.small && !this.#estimate.isOversized(namespace);
  }

  /**
   * Whether a change that is large by its own text may be taken unprepared: one that is edited again and again might
   * never be ready.
   */
  #mayGoUnready(change: Pending, nowMs: number): boolean {
    if (nowMs - change.sinceMs < FAIRNESS.unreadyMs || this.#estimate.isOversized(change.namespace))
      return false;
    // The pods that it means may be many more by now.
    return !change.looksAtMany && !isMany(this.#estimate.countLookedAt(change));
  }

  /**
   * Whether an edit that needs many objects of the cluster may be taken unprepared: it might never be ready, and it may
   * tighten policy.
   */
  #isOverdue(change: Pending, nowMs: number): boolean {
    const isDue = nowMs - change.sinceMs > FAIRNESS.overdueMs || (change.tightens && isLate(change, nowMs));
    return change.before !== undefined && isDue && this.#overdue.level(change.namespace, nowMs) >= 1;
  }
}

/** The changes that each namespace may have in a batch; namespaces that want the least come first. */
function ofEveryNamespace<P extends Pending>(small: readonly P[], nowMs: number): P[] {
  const groups = [...Map.groupBy(small, ({ namespace }) => namespace).values()].map(group =>
    ofOneNamespace(group, nowMs),
  );
  const oldest = (group: readonly Pending[]) => Math.min(...group.map(({ sinceMs }) => sinceMs));
  const isLateGroup = (group: readonly Pending[]) => nowMs - oldest(group) > FAIRNESS.patienceMs;
  groups.sort(
    (a, b) => Number(isLateGroup(b)) - Number(isLateGroup(a)) || sumOf(a) - sumOf(b) || oldest(a) - oldest(b),
  );
  return withinWeight(groups, sumOf, FAIRNESS.batch).flat();
}

function ofOneNamespace<P extends Pending>(its: readonly P[], nowMs: number): P[] {
  const inOrder = its.toSorted((a, b) => precedence(a, b, nowMs));
  return withinWeight(inOrder, ({ weight }) => weight, FAIRNESS.turn);
}

function sumOf(group: readonly Pending[]): number {
  return group.reduce((sum, { weight }) => sum + weight, 0);
}

/** The first in any case. */
function withinWeight<T>(all: readonly T[], weightOf: (one: T) => number, most: number): T[] {
  let sum = 0;
  return all.filter((one, at) => {
    sum += weightOf(one);
    return at === 0 || sum <= most;
  });
}

function partition<T>(values: Iterable<T>, isFirst: (value: T) => boolean): [T[], T[]] {
  const [first, second]: [T[], T[]] = [[], []];
  for (const value of values) (isFirst(value) ? first : second).push(value);
  return [first, second];
}

/** Order of changes: first those that have waited too long, then those that tighten policy, then the oldest. */
function precedence(a: Pending, b: Pending, nowMs: number): number {
  return (
    Number(isLate(b, nowMs)) - Number(isLate(a, nowMs)) ||
    Number(b.tightens) - Number(a.tightens) ||
    a.sinceMs - b.sinceMs
  );
}

function isLate({ sinceMs }: Pending, nowMs: number): boolean {
  return nowMs - sinceMs > FAIRNESS.patienceMs;
}
