/**
 * Policies that have changed and are not in a batch yet. Nobody's change waits for somebody else's big one:
 *
 *     small ──────────────────────────────▶ each batch takes as many as a namespace may have at once, the least first
 *     large, by namespace ─ in turns ─────▶ a batch takes some of one namespace, in half of the time at most
 *       └ new ones that stay behind isolate what they select in the very batch that they are not part of; allowances follow
 *
 * Of a namespace whose pods' rules are much (`isCrowded`) every change counts as large, and those that are ready go together.
 *
 * A policy is compiled by itself, so that a small one beside a large one is small all the same. What stays behind keeps
 * its previous version, so that every batch is what `compile` makes of a cluster that once was, or could have been.
 */

import { KeyedRates, type Rate } from '../../lib/fairness/rates.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import type { WaitingChange } from '../scheduler.ts';
import {
  isIsolating,
  isMany,
  isolatedBy,
  isolating,
  isSmallChange,
  mayIsolate,
  type Pending,
  pendingOf,
  type WaitingPolicy,
} from './change.ts';
import { FAIRNESS } from './limits.ts';

export class AdmissionQueue {
  readonly #foresight: Foresight;
  readonly #pending = new Map<PolicyId, Pending>();
  /** Whose turn was when: the first has waited longest. */
  readonly #turns = new Map<string, number>();
  /** Where a pod has started: a policy that is new must not come after it. */
  readonly #hurried = new Set<string>();
  readonly #hasty = new HastyChanges();
  /** When a namespace had one hastened. */
  readonly #hastened = new Map<string, number>();
  #turn = 0;
  #largeAtMs = Number.NEGATIVE_INFINITY;
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #tookLarge = false;
  /** Small changes went alone although it was a large one's turn: once, and not twice in a row. */
  #passedOver = false;

  constructor(foresight = NOTHING_FORESEEN) {
    this.#foresight = foresight;
  }

  get size(): number {
    return this.#pending.size;
  }

  has(id: PolicyId): boolean {
    return this.#pending.has(id);
  }

  /** Those that wait, the first ones first. */
  all(): readonly WaitingPolicy[] {
    return [...this.#pending.values()];
  }

  /**
   * `before` is the version in force. Edits of one policy become one change; it keeps its place. Answers whether some of
   * it may be in the next batch, whatever it needs.
   */
  note({ id, value }: PolicyChange, before: Policy | undefined, nowMs: number, asks = 0): boolean {
    const pending = pendingOf({ id, value }, { before, nowMs, asks, waiting: this.#pending.get(id) });
    this.#pending.set(id, pending);
    const isSmall = this.#isSmall(pending);
    if (mayIsolate(pending) || (isSmall && pending.tightens)) this.#hasty.add(pending.namespace, id);
    else this.#hasty.delete(pending.namespace, id);
    return isSmall || mayIsolate(pending);
  }

  /** A pod has started there. */
  hurry(namespace: string): void {
    if (this.#pending.size > 0) this.#hurried.add(namespace);
  }

  /** What there is to take, and from when on; nothing where nothing waits. */
  waiting(nowMs: number): WaitingChange | undefined {
    const [oldest] = this.#pending.values();
    if (oldest === undefined) return undefined;
    // What is noted again keeps its place.
    const first = [...this.#pending.values()].find(
      pending => this.#isSmall(pending) || mayIsolate(pending) || this.#isHurried(pending),
    );
    const haste = this.#hasty.mayGo(nowMs) ? 'tightening' : 'none';
    const atMs = first?.sinceMs ?? Math.max(oldest.sinceMs, this.#largeAtMs);
    // What a batch has left behind must not use up what urgent changes have in advance.
    return { atMs, sinceMs: Math.max(atMs, this.#takenAtMs), haste };
  }

  /** What is asked for of a policy that waits, which somebody else sees to from now on. */
  withdraw(id: PolicyId): PolicyChange | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#delete(pending);
    return { id, value: pending.value };
  }

  takeAll(): PolicyChange[] {
    return this.#take([...this.#pending.values()]);
  }

  /** What has to be made ready for later batches. */
  toPrepare(nowMs: number, isReady: IsReady): PolicyChange[] {
    const large = [...this.#pending.values()].filter(pending => !this.#isSmall(pending));
    return toPrepare(large, nowMs, isReady, this.#foresight);
  }

  /** Policies that isolate what they select, and whose allowances wait. */
  get isolating(): ReadonlySet<PolicyId> {
    return new Set([...this.#pending.values()].filter(isIsolating).map(({ id }) => id));
  }

  takeShare(nowMs: number, isReady = ALL_READY): PolicyChange[] {
    const [hurried, others] = partition(this.#pending.values(), pending => this.#isHurried(pending));
    const [small, unsmall] = partition(others, pending => this.#isSmall(pending));
    const [ready, unready] = partition(
      unsmall,
      pending => isReady(pending) || this.#mayGoUnready(pending, nowMs),
    );
    const overdue = unready.find(pending => this.#mayHasten(pending, nowMs));
    const large = overdue === undefined ? ready : [...ready, overdue];
    const atOnce = [...hurried, ...ofEveryNamespace(small, nowMs)];
    const isDue = large.length > 0 && nowMs >= this.#largeAtMs;
    this.#passedOver = isDue && atOnce.length > 0 && !this.#passedOver;
    const turn = isDue && !this.#passedOver ? this.#ofNextNamespace(large, nowMs) : [];
    this.#tookLarge = turn.length > 0;
    this.#hasty.taken(nowMs);
    this.#takenAtMs = nowMs;
    if (overdue !== undefined && turn.includes(overdue)) this.#hasten(overdue, nowMs);
    const starting = new Set(this.#hurried);
    const taken = this.#take([...atOnce, ...turn]);
    return [...taken, ...this.#isolate(nowMs, starting)];
  }

  /**
   * Whoever is new and stays behind: it keeps its place, and its allowances come when it is their turn. Where pods have
   * started all of them isolate, however many.
   */
  #isolate(nowMs: number, starting: ReadonlySet<string>): PolicyChange[] {
    const left = [...this.#pending.values()].filter(mayIsolate).map(isolating);
    const [hurried, others] = partition(left, ({ namespace }) => starting.has(namespace));
    return [...hurried, ...ofEveryNamespace(others, nowMs)].map(({ id, namespace, value }) => {
      this.#pending.set(id, isolatedBy(value, this.#pending.get(id)!));
      this.#hasty.delete(namespace, id);
      return { id, value };
    });
  }

  #mayHasten(pending: Pending, nowMs: number): boolean {
    const isWorn = pending.isRewritten && nowMs - pending.sinceMs > FAIRNESS.hastenMs;
    const isOverdue = isWorn || (pending.tightens && isLate(pending, nowMs));
    if (pending.before === undefined || !isOverdue) return false;
    return nowMs - (this.#hastened.get(pending.namespace) ?? Number.NEGATIVE_INFINITY) >= FAIRNESS.hastenMs;
  }

  #hasten({ namespace }: Pending, nowMs: number): void {
    for (const [other, atMs] of this.#hastened)
      if (nowMs - atMs >= FAIRNESS.hastenMs) this.#hastened.delete(other);
    this.#hastened.set(namespace, nowMs);
  }

  /** The batch of what was taken last took that time: as much belongs to others. */
  took(tookMs: number, nowMs: number): void {
    if (this.#tookLarge) this.#largeAtMs = nowMs + Math.min(tookMs, FAIRNESS.mostPauseMs);
    this.#tookLarge = false;
  }

  #take(chosen: readonly Pending[]): PolicyChange[] {
    for (const pending of chosen) this.#delete(pending);
    this.#hurried.clear();
    return chosen.map(({ id, value }) => ({ id, value }));
  }

  #delete({ id, namespace }: Pending): void {
    this.#pending.delete(id);
    this.#hasty.delete(namespace, id);
  }

  /** A policy of the whole cluster that is new, where a pod has started that it may select: it cannot isolate ahead. */
  #isHurried({ namespace, isNew }: Pending): boolean {
    return isNew && namespace === '' && this.#hurried.size > 0;
  }

  #ofNextNamespace(large: readonly Pending[], nowMs: number): Pending[] {
    const lastTurn = ({ namespace }: Pending) => this.#turns.get(namespace) ?? -1;
    const late = large.filter(pending => isLate(pending, nowMs));
    const first = [
      ...late,
      ...large.toSorted((a, b) => lastTurn(a) - lastTurn(b) || a.sinceMs - b.sinceMs),
    ][0];
    if (first === undefined) return [];
    this.#turns.set(first.namespace, ++this.#turn);
    for (const namespace of this.#turns.keys())
      if (this.#turns.get(namespace)! <= this.#turn - MOST_TURNS) this.#turns.delete(namespace);
    const its = large.filter(({ namespace }) => namespace === first.namespace);
    return this.#foresight.isCrowded(first.namespace) ? its : ofOneNamespace(its, nowMs);
  }

  #isSmall(pending: Pending): boolean {
    return isSmallChange(pending) && !this.#foresight.isCrowded(pending.namespace);
  }

  /** Whoever is written again and again may never be ready. */
  #mayGoUnready(pending: Pending, nowMs: number): boolean {
    if (nowMs - pending.sinceMs < FAIRNESS.unreadyMs || this.#foresight.isCrowded(pending.namespace))
      return false;
    // Those whom it means may be many more by now.
    return !pending.asksMany && !isMany(this.#foresight.asks(pending));
  }
}

/** Turns of namespaces that had none for so many others are forgotten. */
const MOST_TURNS = 10_000;

/**
 * Small changes that tighten, which may go beyond the budget of commits. Each namespace has a ration of that, so that one
 * that tightens without end waits like everybody else, and does not use up what is there for the others.
 */
export const RATION: Rate = { burst: 5, perSecond: 3 };
/** Beyond so many, rations that are whole again are forgotten. */
const MOST_REMEMBERED = 1000;

class HastyChanges {
  readonly #waiting = new Map<string, Set<PolicyId>>();
  readonly #rations = new KeyedRates(RATION);

  add(namespace: string, id: PolicyId): void {
    this.#waiting.set(namespace, (this.#waiting.get(namespace) ?? new Set()).add(id));
  }

  delete(namespace: string, id: PolicyId): void {
    const ids = this.#waiting.get(namespace);
    if (ids?.delete(id) && ids.size === 0) this.#waiting.delete(namespace);
  }

  /** Whether one of a namespace waits that has some of its ration left. */
  mayGo(nowMs: number): boolean {
    return [...this.#waiting.keys()].some(namespace => this.#isLeft(namespace, nowMs));
  }

  /** A batch takes them in. */
  taken(nowMs: number): void {
    for (const namespace of this.#waiting.keys())
      if (this.#isLeft(namespace, nowMs)) this.#rations.take(namespace, nowMs);
    if (this.#rations.size > MOST_REMEMBERED) this.#rations.forgetWhole(nowMs);
  }

  #isLeft(namespace: string, nowMs: number): boolean {
    return this.#rations.level(namespace, nowMs) >= 1;
  }
}

/** Of each namespace what it may have in a batch; those that want the least come first. */
function ofEveryNamespace<P extends Pending>(small: readonly P[], nowMs: number): P[] {
  const groups = [...Map.groupBy(small, ({ namespace }) => namespace).values()].map(group =>
    ofOneNamespace(group, nowMs),
  );
  const oldest = (group: readonly Pending[]) => Math.min(...group.map(({ sinceMs }) => sinceMs));
  const isLateGroup = (group: readonly Pending[]) => nowMs - oldest(group) > FAIRNESS.patienceMs;
  groups.sort(
    (a, b) => Number(isLateGroup(b)) - Number(isLateGroup(a)) || sumOf(a) - sumOf(b) || oldest(a) - oldest(b),
  );
  let sum = 0;
  const isWithin = (group: readonly Pending[]) => {
    sum += sumOf(group);
    return sum <= FAIRNESS.batch || sum === sumOf(group);
  };
  return groups.filter(isWithin).flat();
}

function ofOneNamespace<P extends Pending>(its: readonly P[], nowMs: number): P[] {
  return withinWeight(its.toSorted((a, b) => precedence(a, b, nowMs)));
}

function sumOf(group: readonly Pending[]): number {
  return group.reduce((sum, { weight }) => sum + weight, 0);
}

function partition<T>(values: Iterable<T>, isFirst: (value: T) => boolean): [T[], T[]] {
  const [first, second]: [T[], T[]] = [[], []];
  for (const value of values) (isFirst(value) ? first : second).push(value);
  return [first, second];
}

/** What has waited for too long, then what tightens, then what came first. */
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

/** The first in any case. */
function withinWeight<P extends Pending>(pending: readonly P[]): P[] {
  let sum = 0;
  return pending.filter(({ weight }, at) => {
    sum += weight;
    return at === 0 || sum <= FAIRNESS.turn;
  });
}

/** Whether a change costs a batch no more than it says itself: how many its peers are, the cluster tells. */
export type IsReady = (change: PolicyChange) => boolean;

const ALL_READY: IsReady = () => true;

/** What is known of changes before they are taken in. */
export interface Foresight {
  /** How many pods of the cluster have to be asked for a change, if nothing of it is ready. */
  asks(change: PolicyChange): number;
  /** Whether changes of that namespace's policies are made ready and taken in together, however small. */
  isCrowded(namespace: string): boolean;
}

export const NOTHING_FORESEEN: Foresight = { asks: () => 0, isCrowded: () => false };

/**
 * Those that are ready stay so, and of each other namespace the next one is to become it: what is in force when it is
 * taken in is what it was made ready for. Of a crowded one all wait for their turn, and some of them become it together.
 */
function toPrepare(
  large: readonly Pending[],
  nowMs: number,
  isReady: IsReady,
  { isCrowded }: Foresight,
): PolicyChange[] {
  const [ready, others] = partition(large, isReady);
  const isServed = new Set(ready.map(({ namespace }) => namespace));
  const waiting = others.filter(({ namespace }) => !isServed.has(namespace));
  const next = [...Map.groupBy(waiting, ({ namespace }) => namespace)].flatMap(([namespace, its]) => {
    const inTurn = its.sort((a, b) => precedence(a, b, nowMs));
    return isCrowded(namespace) ? inTurn : inTurn.slice(0, 1);
  });
  return [...ready, ...next].map(({ id, value }) => ({ id, value }));
}
