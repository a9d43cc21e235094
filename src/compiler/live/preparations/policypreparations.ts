/**
 * Changes of policies that are about to be taken in, made ready before (preparations.ts). What each needs is what the
 * classes need in which the pods of this node will be by it.
 *
 *     prepare(changes) ─▶ flushes make ready what they need ─▶ isReady ─▶ the change is noted
 *
 * Of a namespace whose classes are much by themselves, changes are made ready together (together.ts).
 */
import { DIRECTIONS, namespaceOfPolicy, type Policy, type Rule, rulesOf } from '../../../model/policy.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import { countEntries } from '../../../model/policysize.ts';
import type { PodClass } from '../../classes.ts';
import { isSmallPolicy } from '../../shares.ts';
import type { LiveParts } from '../liveparts.ts';
import type { IndexedPod } from '../pods/podindex.ts';
import { countAskedBy } from './asked.ts';
import type { Coming, LivePreparations } from './preparations.ts';
import { changesTogether, isAmong, nextTogether, type Together } from './together.ts';

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

/** Of a crowded namespace. */
interface Next {
  readonly together: Together;
  readonly coming: Coming;
}

export class PolicyPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;
  readonly #mostEntries: number;
  /** By namespace. */
  #crowded: ReadonlyMap<string, Next> = new Map();

  constructor(live: LiveParts, preparations: LivePreparations, mostEntries: number) {
    this.#live = live;
    this.#preparations = preparations;
    this.#mostEntries = mostEntries;
  }

  /** From now on of these changes, and of no others; of a crowded namespace those that come first are the first. */
  want(changes: readonly PolicyChange[]): void {
    const crowded = new Map<string, Next>();
    const alone: Coming[] = [];
    for (const [namespace, its] of Map.groupBy(changes, ({ id }) => namespaceOfPolicy(id))) {
      if (this.isCrowded(namespace)) crowded.set(namespace, this.#nextOf(namespace, its));
      else alone.push(...its.filter(change => this.#isNeeded(change)).map(change => this.#comingOf(change)));
    }
    this.#crowded = crowded;
    this.#preparations.want('policy', [...alone, ...[...crowded.values()].map(({ coming }) => coming)]);
  }

  /** Of a change that is wanted, or has nothing to prepare. */
  isReady(change: PolicyChange): boolean {
    const namespace = namespaceOfPolicy(change.id);
    if (!this.isCrowded(namespace))
      return !this.#isNeeded(change) || this.#preparations.isReady(this.#comingOf(change));
    const next = this.#crowded.get(namespace);
    return next !== undefined && isAmong(next.together, change) && this.#preparations.isReady(next.coming);
  }

  /** Its pods have so many entries in their classes that changes of its policies are made ready together. */
  isCrowded(namespace: string): boolean {
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
    for (const podClass of this.#leaving([change])) {
      if (asked >= MOST_COUNTED) return asked;
      asked += this.#live.classes.countMerged(podClass);
    }
    return asked;
  }

  #isNeeded({ id, value }: PolicyChange): boolean {
    return isLarge(value) || asksCluster(value) || asksCluster(this.#live.placements.policy(id));
  }

  #comingOf(change: PolicyChange): Coming {
    return {
      of: 'policy',
      key: change.id,
      namespace: namespaceOfPolicy(change.id),
      version: change.value,
      weight: change.value === undefined ? 1 : countEntries(change.value),
      basis: () => this.#leaving([change]),
      joining: () => this.#live.placements.joining([inForce(change)], this.#pods()),
    };
  }

  #nextOf(namespace: string, waiting: readonly PolicyChange[]): Next {
    const before = this.#crowded.get(namespace);
    const together = nextTogether(waiting, before?.together);
    if (together === before?.together) return before;
    return { together, coming: this.#comingOfAll(namespace, together) };
  }

  #comingOfAll(namespace: string, together: Together): Coming {
    const changes = changesTogether(together);
    return {
      of: 'policy',
      key: `all of ${namespace}`,
      namespace,
      version: together,
      weight: this.#live.classes.entriesIn(namespace),
      basis: this.#asLongAsPlaced(() => this.#leaving(changes)),
      joining: () => this.#live.placements.joining(changes.map(inForce), this.#pods()),
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

  #leaving(changes: readonly PolicyChange[]): ReadonlySet<PodClass> {
    return this.#live.placements.leaving(changes.map(inForce), this.#pods());
  }

  #pods(): Iterable<IndexedPod> {
    return this.#live.podIndex.onNode(this.#live.node);
  }
}

/** As pods will have it: one that is audited is in no class. */
function inForce({ id, value }: PolicyChange): PolicyChange {
  return { id, value: value?.audited ? undefined : value };
}
