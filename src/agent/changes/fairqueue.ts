/**
 * Policies that have changed and are not in a batch yet. Nobody's change waits for somebody else's big one:
 *
 *     small ──────────────────────────────▶ each batch takes all of them, and at first no large one with them
 *     large, by namespace ─ in turns ─────▶ a batch takes some of one namespace, in half of the time at most
 *
 * A change is large where its policy, or the namespace that it is compiled with, is. What stays behind keeps its
 * previous version, so that every batch is what `compile` makes of a cluster that once was, or could have been.
 */
import type { Policy, PolicyId } from '../../model/policy.ts';
import { namespaceOf, type PolicyChange } from './change.ts';
import { weightOf } from './weight.ts';

interface Pending {
  readonly id: PolicyId;
  readonly namespace: string;
  /** What is in force, or on its way. */
  readonly before: Policy | undefined;
  readonly value: Policy | undefined;
  readonly sinceMs: number;
}

export const FAIRNESS = {
  /** What a change may weigh, with its namespace, to go at once: some milliseconds of work. */
  small: 300,
  /** What one turn of a namespace may weigh; a single policy may weigh more. */
  turn: 1000,
  /** Large changes wait for as long as the last one took, but not for longer than this. */
  mostPauseMs: 1000,
  /** After that time a change goes before others of its namespace, whatever they are. */
  patienceMs: 5000,
} as const;

export class FairQueue {
  readonly #pending = new Map<PolicyId, Pending>();
  /** What the policies of each namespace weigh, as they were told last. */
  readonly #weights = new Map<string, { readonly of: Map<PolicyId, number>; sum: number }>();
  /** Whose turn was when: the first has waited longest. */
  readonly #turns = new Map<string, number>();
  /** Where a pod has started: a policy that is new must not come after it. */
  readonly #hurried = new Set<string>();
  #turn = 0;
  #largeAtMs = Number.NEGATIVE_INFINITY;
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
  note({ id, value }: PolicyChange, before: Policy | undefined, nowMs: number): void {
    const namespace = namespaceOf(id);
    const sinceMs = this.#pending.get(id)?.sinceMs ?? nowMs;
    this.#pending.set(id, { id, namespace, before, value, sinceMs });
    this.#weigh(namespace, { id, value });
  }

  /** A pod has started there. */
  hurry(namespace: string): void {
    if (this.#pending.size > 0) this.#hurried.add(namespace);
  }

  /** From when on there is something to take; nothing where nothing waits. */
  readyAtMs(nowMs: number): number | undefined {
    if (this.#pending.size === 0) return undefined;
    const now = [...this.#pending.values()].some(pending => this.#goesAtOnce(pending));
    return now ? nowMs : Math.max(nowMs, this.#largeAtMs);
  }

  takeAll(): PolicyChange[] {
    return this.#take([...this.#pending.values()]);
  }

  takeShare(nowMs: number): PolicyChange[] {
    const waiting = [...this.#pending.values()];
    const atOnce = waiting.filter(pending => this.#goesAtOnce(pending));
    const large = waiting.filter(pending => !this.#goesAtOnce(pending));
    const isDue = large.length > 0 && nowMs >= this.#largeAtMs;
    this.#passedOver = isDue && atOnce.length > 0 && !this.#passedOver;
    const turn = isDue && !this.#passedOver ? this.#ofNextNamespace(large, nowMs) : [];
    this.#tookLarge = turn.length > 0;
    return this.#take([...atOnce, ...turn]);
  }

  /** The batch of what was taken last took that time: as much belongs to others. */
  took(tookMs: number, nowMs: number): void {
    if (this.#tookLarge) this.#largeAtMs = nowMs + Math.min(tookMs, FAIRNESS.mostPauseMs);
    this.#tookLarge = false;
  }

  #weigh(namespace: string, { id, value }: PolicyChange): void {
    const weights = this.#weights.get(namespace) ?? { of: new Map<PolicyId, number>(), sum: 0 };
    const weight = weightOf(value);
    weights.sum += weight - (weights.of.get(id) ?? 0);
    if (weight > 0) weights.of.set(id, weight);
    else weights.of.delete(id);
    if (weights.of.size > 0) this.#weights.set(namespace, weights);
    else this.#forget(namespace);
  }

  #forget(namespace: string): void {
    this.#weights.delete(namespace);
    this.#turns.delete(namespace);
  }

  #take(chosen: readonly Pending[]): PolicyChange[] {
    for (const { id } of chosen) this.#pending.delete(id);
    this.#hurried.clear();
    return chosen.map(({ id, value }) => ({ id, value }));
  }

  #goesAtOnce({ namespace, before, value }: Pending): boolean {
    if (before === undefined && this.#isHurried(namespace)) return true;
    return weightOf(before) + weightOf(value) + this.#weightOfNamespace(namespace) <= FAIRNESS.small;
  }

  /** A policy of the whole cluster may select the pod too. */
  #isHurried(namespace: string): boolean {
    return namespace === '' ? this.#hurried.size > 0 : this.#hurried.has(namespace);
  }

  // Policies that select the same pods are compiled together. Those of the cluster are compiled with everybody's.
  #weightOfNamespace(namespace: string): number {
    return namespace === '' ? 0 : (this.#weights.get(namespace)?.sum ?? 0);
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
    const its = large.filter(({ namespace }) => namespace === first.namespace);
    return withinWeight(its.sort((a, b) => precedence(a, b, nowMs)));
  }
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

/** As far as a glance tells: a policy that is new isolates, one that became smaller allows less. */
function tightens({ before, value }: Pending): boolean {
  return value !== undefined && (before === undefined || weightOf(value) < weightOf(before));
}

/** The first in any case. */
function withinWeight(pending: readonly Pending[]): Pending[] {
  let sum = 0;
  return pending.filter(({ before, value }, at) => {
    sum += weightOf(before) + weightOf(value);
    return at === 0 || sum <= FAIRNESS.turn;
  });
}
