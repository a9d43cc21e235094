/**
 * Changes of policies that are about to be taken in, made ready before (preparations.ts). What each needs is what the
 * classes need in which the pods of this node will be by it.
 *
 *     prepare(changes) ─▶ flushes make ready what they need ─▶ isReady ─▶ the change is noted
 */
import { DIRECTIONS, namespaceOfPolicy, type Policy, type Rule, rulesOf } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { countEntries } from '../../model/policysize.ts';
import type { PodClass } from '../classes.ts';
import { isSmallPolicy } from '../shares.ts';
import { countAskedBy } from './asked.ts';
import type { LiveParts } from './localmoves.ts';
import type { IndexedPod } from './podindex.ts';
import type { Coming, LivePreparations } from './preparations.ts';

/** Who asks more is many anyway. */
const MOST_COUNTED = 20_000;
/** Entries of small policies, in all classes of a namespace, that take as long to be made anew as to ask one pod. */
const ENTRIES_AS_ASKED = 20;
/** Of these, what is made anew in a flush whatever comes, some 60 ms: with more, one change after the other is made ready. */
const MOST_AT_ONCE = 400_000;

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

export class PolicyPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;

  constructor(live: LiveParts, preparations: LivePreparations) {
    this.#live = live;
    this.#preparations = preparations;
  }

  /** From now on of these changes, and of no others. */
  want(changes: Iterable<PolicyChange>): void {
    const needed = [...changes].filter(change => this.#isNeeded(change));
    this.#preparations.want(
      'policy',
      needed.map(change => this.#comingOf(change)),
    );
  }

  /** Of a change that is wanted, or has nothing to prepare. */
  isReady(change: PolicyChange): boolean {
    return !this.#isNeeded(change) || this.#preparations.isReady(this.#comingOf(change));
  }

  /**
   * About how many pods its groups would ask if none of them were there yet, with those of what it is merged with; no
   * further than to `MOST_COUNTED`.
   */
  asks(change: PolicyChange): number {
    if (!this.#isNeeded(change)) return 0;
    const rules = change.value === undefined ? [] : rulesOf(change.value);
    let asked = countAskedBy(rules, this.#live.podIndex, MOST_COUNTED);
    asked += Math.floor(this.#entriesBeside(change) / ENTRIES_AS_ASKED);
    for (const podClass of this.#leaving(change)) {
      if (asked >= MOST_COUNTED) return asked;
      asked += this.#live.classes.countMerged(podClass);
    }
    return asked;
  }

  #isNeeded({ id, value }: PolicyChange): boolean {
    if (isLarge(value) || asksCluster(value) || asksCluster(this.#live.placements.policy(id))) return true;
    return this.#entriesBeside({ id, value }) > 0;
  }

  /** Of the classes of its namespace, which it may have made anew: where they are many, or none. */
  #entriesBeside({ id }: PolicyChange): number {
    const entries = this.#live.classes.entriesIn(namespaceOfPolicy(id));
    return entries > MOST_AT_ONCE ? entries : 0;
  }

  #comingOf(change: PolicyChange): Coming {
    return {
      of: 'policy',
      key: change.id,
      namespace: namespaceOfPolicy(change.id),
      version: change.value,
      weight: change.value === undefined ? 1 : countEntries(change.value),
      basis: () => this.#leaving(change),
      joining: () => this.#live.placements.joining(inForce(change), this.#pods()),
    };
  }

  #leaving(change: PolicyChange): ReadonlySet<PodClass> {
    return this.#live.placements.leaving(inForce(change), this.#pods());
  }

  #pods(): Iterable<IndexedPod> {
    return this.#live.podIndex.onNode(this.#live.node);
  }
}

/** As pods will have it: one that is audited is in no class. */
function inForce({ id, value }: PolicyChange): PolicyChange {
  return { id, value: value?.audited ? undefined : value };
}
