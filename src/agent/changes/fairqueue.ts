/**
 * Policies that have changed and are not in a batch yet. Nobody's change waits for somebody else's big one:
 *
 *     small ──────────────────────────────▶ each batch takes as many as a namespace may have at once, the least first
 *     large, by namespace ─ in turns ─────▶ a batch takes some of one namespace, in half of the time at most
 *       └ that isolate, are new and wait for long for what their allowances need ─▶ isolate without them
 *
 * A policy is compiled by itself, so that a small one beside a large one is small all the same. What stays behind keeps
 * its previous version, so that every batch is what `compile` makes of a cluster that once was, or could have been.
 */
import { namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import type { WaitingChange } from '../decision.ts';
import type { PolicyChange } from './change.ts';
import { HastyChanges } from './hasty.ts';
import { isolated } from './isolated.ts';
import { weightOf } from './weight.ts';

interface Pending {
  readonly id: PolicyId;
  readonly namespace: string;
  /** What is in force, or on its way. */
  readonly before: Policy | undefined;
  readonly value: Policy | undefined;
  /** Of both, and of the pods that the new one's peers ask. */
  readonly weight: number;
  readonly sinceMs: number;
}

/** Whether a policy costs a batch no more than it says itself: how many its peers are, the cluster tells. */
export type IsReady = (policy: Policy) => boolean;

const ALL_READY: IsReady = () => true;

export const FAIRNESS = {
  /** What a change may weigh to go at once: some milliseconds of work. */
  small: 300,
  /** What the changes of one namespace may weigh in one batch; a single policy may weigh more. */
  turn: 1000,
  /** What all small changes may weigh in one batch. */
  batch: 3000,
  /** Large changes wait for as long as the last one took, but not for longer than this. */
  mostPauseMs: 1000,
  /** After that time a change goes before others of its namespace, whatever they are. */
  patienceMs: 5000,
  /** What is new and not ready by then isolates without its allowances. */
  isolateMs: 1000,
  /** An edit that allows less and is not ready after all patience goes as it is; of a namespace one in that time. */
  hastenMs: 60_000,
} as const;

export class FairQueue {
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

  get size(): number {
    return this.#pending.size;
  }

  /** Since when each of those that wait has waited. */
  sinceMs(): number[] {
    return [...this.#pending.values()].map(({ sinceMs }) => sinceMs);
  }

  /** `before` is the version in force. Edits of one policy become one change; it keeps its place. */
  note({ id, value }: PolicyChange, before: Policy | undefined, nowMs: number, asks = 0): void {
    const namespace = namespaceOfPolicy(id);
    const sinceMs = this.#pending.get(id)?.sinceMs ?? nowMs;
    const pending = {
      id,
      namespace,
      before,
      value,
      weight: weightOf(before) + weightOf(value, asks),
      sinceMs,
    };
    this.#pending.set(id, pending);
    if (isSmall(pending) && tightens(pending)) this.#hasty.add(namespace, id);
    else this.#hasty.delete(namespace, id);
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
    const first = [...this.#pending.values()].find(pending => isSmall(pending) || this.#isHurried(pending));
    const haste = this.#hasty.mayGo(nowMs) ? 'tightening' : 'none';
    const atMs = first?.sinceMs ?? Math.max(oldest.sinceMs, this.#largeAtMs);
    // What a batch has left behind must not use up what urgent changes have in advance.
    return { atMs, sinceMs: Math.max(atMs, this.#takenAtMs), haste };
  }

  takeAll(): PolicyChange[] {
    return this.#take([...this.#pending.values()]);
  }

  /** Large ones that are ready stay so, and of each namespace the next one is to become it. */
  toPrepare(nowMs: number, isReady: IsReady): Policy[] {
    const large = [...this.#pending.values()].filter(
      (pending): pending is Pending & { value: Policy } => pending.value !== undefined && !isSmall(pending),
    );
    const [ready, others] = partition(large, ({ value }) => isReady(value));
    const groups = [...Map.groupBy(others, ({ namespace }) => namespace).values()];
    const next = groups.map(group => group.sort((a, b) => precedence(a, b, nowMs))[0]!);
    return [...ready, ...next].map(({ value }) => value);
  }

  takeShare(nowMs: number, isReady = ALL_READY): PolicyChange[] {
    const [hurried, others] = partition(this.#pending.values(), pending => this.#isHurried(pending));
    const [small, unsmall] = partition(others, isSmall);
    const [ready, unready] = partition(unsmall, ({ value }) => value === undefined || isReady(value));
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
    const isolating = unready.filter(pending => mayIsolate(pending, nowMs));
    return [...this.#take([...atOnce, ...turn]), ...isolating.map(pending => this.#isolate(pending))];
  }

  /** It keeps its place, and its allowances come when they are ready. */
  #isolate(pending: Pending): PolicyChange {
    const value = isolated(pending.value!);
    this.#pending.set(pending.id, { ...pending, before: value });
    return { id: pending.id, value };
  }

  #mayHasten(pending: Pending, nowMs: number): boolean {
    if (pending.before === undefined || !tightens(pending) || !isLate(pending, nowMs)) return false;
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
    for (const { id, namespace } of chosen) {
      this.#pending.delete(id);
      this.#hasty.delete(namespace, id);
    }
    this.#hurried.clear();
    return chosen.map(({ id, value }) => ({ id, value }));
  }

  /** A policy that is new, where a pod has started; one of the whole cluster may select the pod too. */
  #isHurried({ namespace, before }: Pending): boolean {
    if (before !== undefined) return false;
    return namespace === '' ? this.#hurried.size > 0 : this.#hurried.has(namespace);
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
    return ofOneNamespace(
      large.filter(({ namespace }) => namespace === first.namespace),
      nowMs,
    );
  }
}

function isSmall({ weight }: Pending): boolean {
  return weight <= FAIRNESS.small;
}

/** Of a policy of the whole cluster that denies, what isolates would deny all. */
function mayIsolate({ id, before, value, sinceMs }: Pending, nowMs: number): boolean {
  const isNew = before === undefined && value !== undefined && !value.audited;
  return isNew && namespaceOfPolicy(id) !== '' && nowMs - sinceMs > FAIRNESS.isolateMs;
}

/** Turns of namespaces that had none for so many others are forgotten. */
const MOST_TURNS = 10_000;

/** Of each namespace what it may have in a batch; those that want the least come first. */
function ofEveryNamespace(small: readonly Pending[], nowMs: number): Pending[] {
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

function ofOneNamespace(its: readonly Pending[], nowMs: number): Pending[] {
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
    Number(tightens(b)) - Number(tightens(a)) ||
    a.sinceMs - b.sinceMs
  );
}

function isLate({ sinceMs }: Pending, nowMs: number): boolean {
  return nowMs - sinceMs > FAIRNESS.patienceMs;
}

/**
 * As far as a glance tells: a policy that is new isolates, one that became smaller allows less. One that is audited
 * isolates nobody, however new it is.
 */
function tightens({ before, value }: Pending): boolean {
  if (value === undefined || value.audited) return false;
  return before === undefined || weightOf(value) < weightOf(before);
}

/** The first in any case. */
function withinWeight(pending: readonly Pending[]): Pending[] {
  let sum = 0;
  return pending.filter(({ weight }, at) => {
    sum += weight;
    return at === 0 || sum <= FAIRNESS.turn;
  });
}
