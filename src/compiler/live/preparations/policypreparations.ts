/**
 * Changes of policies that are about to be taken in, made ready before (preparations.ts). What each needs is what the
 * classes need in which the pods of this node will be by it.
 *
 *     prepare(changes) ─▶ flushes make ready what they need ─▶ isReady ─▶ the change is noted
 *
 * Of a namespace whose classes are much by themselves, changes are made ready together (together.ts).
 */
import {
  DIRECTIONS,
  namespaceOfPolicy,
  type Policy,
  type PolicyId,
  type Rule,
  rulesOf,
} from '../../../model/policy.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import { countEntries } from '../../../model/policysize.ts';
import type { PodClass } from '../../classes.ts';
import { isSmallPolicy } from '../../shares.ts';
import type { LiveParts } from '../liveparts.ts';
import type { IndexedPod } from '../pods/podindex.ts';
import { countAskedBy, type LivePreparations, type PreparationRequest } from './preparations.ts';

/** Who asks more is many anyway. */
const MOST_COUNTED = 20_000;
/** Entries of small policies, of all pods of a namespace, that the flush may make anew that takes their changes in. */
export const MOST_AT_ONCE = 100_000;

/** It has peers of which only the cluster tells how many they are. */
function asksCluster(policy: Policy | undefined): boolean {
  const isOfCluster = ({ peers }: Rule) =>
    peers !== 'any' && peers.some(({ kind }) => kind === 'pods' || kind === 'nodes');
  return policy !== undefined && !policy.audited && rulesOf(policy).some(isOfCluster);
}

/** To make its rules takes long by itself. */
function isLarge(policy: Policy | undefined): boolean {
  return (
    policy !== undefined && !policy.audited && DIRECTIONS.some(direction => !isSmallPolicy(policy, direction))
  );
}

/** Of a oversized namespace. */
interface Next {
  readonly together: NamespaceBatch;
  readonly request: PreparationRequest;
}

export class PolicyPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;
  readonly #mostEntries: number;
  /** By namespace. */
  #oversized: ReadonlyMap<string, Next> = new Map();

  constructor(live: LiveParts, preparations: LivePreparations, mostEntries: number) {
    this.#live = live;
    this.#preparations = preparations;
    this.#mostEntries = mostEntries;
  }

  /** From now on of these changes, and of no others; of a oversized namespace those that come first are the first. */
  want(changes: readonly PolicyChange[]): void {
    const oversized = new Map<string, Next>();
    const alone: PreparationRequest[] = [];
    for (const [namespace, its] of Map.groupBy(changes, ({ id }) => namespaceOfPolicy(id))) {
      if (this.isOversized(namespace)) oversized.set(namespace, this.#nextOf(namespace, its));
      else alone.push(...its.filter(change => this.#isNeeded(change)).map(change => this.#requestOf(change)));
    }
    this.#oversized = oversized;
    this.#preparations.request('policy', [
      ...alone,
      ...[...oversized.values()].map(({ request }) => request),
    ]);
  }

  /** Of a change that is wanted, or has nothing to prepare. */
  isReady(change: PolicyChange): boolean {
    const namespace = namespaceOfPolicy(change.id);
    if (!this.isOversized(namespace))
      return !this.#isNeeded(change) || this.#preparations.isReady(this.#requestOf(change));
    const next = this.#oversized.get(namespace);
    return next !== undefined && isAmong(next.together, change) && this.#preparations.isReady(next.request);
  }

  /** Its pods have so many entries in their classes that changes of its policies are made ready together. */
  isOversized(namespace: string): boolean {
    return this.#live.classes.entriesIn(namespace) > this.#mostEntries;
  }

  /**
   * About how many pods its groups would ask if none of them were there yet, with those of what it is merged with; no
   * further than to `MOST_COUNTED`.
   */
  asks(change: PolicyChange): number {
    if (!this.#isNeeded(change)) return 0;
    const rules = change.value === undefined ? [] : rulesOf(change.value);
    let asked = countAskedBy(rules, this.#live.podIndex, MOST_COUNTED);
    if (asked >= MOST_COUNTED) return asked;
    for (const podClass of this.#currentClasses([change])) {
      if (asked >= MOST_COUNTED) return asked;
      asked += this.#live.classes.countMerged(podClass);
    }
    return asked;
  }

  #isNeeded({ id, value }: PolicyChange): boolean {
    return isLarge(value) || asksCluster(value) || asksCluster(this.#live.placements.policy(id));
  }

  #requestOf(change: PolicyChange): PreparationRequest {
    return {
      of: 'policy',
      key: change.id,
      namespace: namespaceOfPolicy(change.id),
      version: change.value,
      weight: change.value === undefined ? 1 : countEntries(change.value),
      inputs: () => this.#currentClasses([change]),
      targetClasses: () => this.#live.placements.targetClasses([inForce(change)], this.#pods()),
    };
  }

  #nextOf(namespace: string, waiting: readonly PolicyChange[]): Next {
    const before = this.#oversized.get(namespace);
    const together = nextTogether(waiting, before?.together);
    if (together === before?.together) return before;
    return { together, request: this.#requestOfAll(namespace, together) };
  }

  #requestOfAll(namespace: string, together: NamespaceBatch): PreparationRequest {
    const changes = changesTogether(together);
    return {
      of: 'policy',
      key: `all of ${namespace}`,
      namespace,
      version: together,
      weight: this.#live.classes.entriesIn(namespace),
      inputs: this.#asLongAsPlaced(() => this.#currentClasses(changes)),
      targetClasses: () => this.#live.placements.targetClasses(changes.map(inForce), this.#pods()),
    };
  }

  /** Found out once as long as pods are in the classes where they are: it is asked for each of the changes. */
  #asLongAsPlaced<T>(find: () => T): () => T {
    let found: { readonly version: number; readonly value: T } | undefined;
    return () => {
      const { version } = this.#live.placements;
      if (found?.version !== version) found = { version, value: find() };
      return found.value;
    };
  }

  #currentClasses(changes: readonly PolicyChange[]): ReadonlySet<PodClass> {
    return this.#live.placements.currentClasses(changes.map(inForce), this.#pods());
  }

  #pods(): Iterable<IndexedPod> {
    return this.#live.podIndex.local();
  }
}

/** As pods will have it: one that is audited is in no class. */
function inForce({ id, value }: PolicyChange): PolicyChange {
  return { id, value: value?.audited ? undefined : value };
}

/**
 * Changes of a namespace's policies that are made ready as one, and taken in as one: its classes are made once for all of
 * them.
 */
type NamespaceBatch = ReadonlyMap<PolicyId, Policy | undefined>;

/** In entries, and one for each change: they are taken in by one flush. */
const MOST = 1_000;

/**
 * Those that are next, where `waiting` are left of the namespace, the first ones first. Of those `before` all stay of which
 * no other version has come: such a one waits for the next turn, and whoever edits a policy without end keeps nobody else
 * waiting. The same object where all stay.
 */
export function nextTogether(
  waiting: readonly PolicyChange[],
  before: NamespaceBatch | undefined,
): NamespaceBatch {
  if (before !== undefined) {
    const left = waiting.filter(change => isAmong(before, change));
    if (left.length === before.size) return before;
    if (left.length > 0) return togetherOf(left);
  }
  return togetherOf(firstOf(waiting));
}

/** In that very version. */
function isAmong(together: NamespaceBatch, { id, value }: PolicyChange): boolean {
  return together.has(id) && together.get(id) === value;
}

export function changesTogether(together: NamespaceBatch): PolicyChange[] {
  return [...together].map(([id, value]) => ({ id, value }));
}

function togetherOf(changes: readonly PolicyChange[]): NamespaceBatch {
  return new Map(changes.map(({ id, value }) => [id, value]));
}

/** The first one in any case. */
function firstOf(changes: readonly PolicyChange[]): PolicyChange[] {
  let sum = 0;
  return changes.filter(({ value }, at) => {
    sum += 1 + (value === undefined ? 0 : countEntries(value));
    return at === 0 || sum <= MOST;
  });
}
