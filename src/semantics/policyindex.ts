/**
 * Policies indexed by what their subjects require, so that only policies which may select a pod are looked at. Changing
 * a policy costs as much as its own keys, however many other policies there are.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Pod } from '../model/cluster.ts';
import { comparePolicies, type Policy, type PolicyId } from '../model/policy.ts';
import type { PodSelector } from '../model/selector.ts';

interface Placed {
  readonly policy: Policy;
  /** The keys of everything that its subject requires, and those under which it is indexed. */
  readonly required: readonly string[];
  readonly keys: ReadonlySet<string>;
}

export class PolicyIndex {
  readonly #placed = new Map<PolicyId, Placed>();
  /** How many policies require a key. */
  readonly #counts = new Map<string, number>();
  readonly #found = new Map<string, Map<PolicyId, Policy>>();
  #sorted: readonly Policy[] | undefined;

  constructor(policies: Iterable<Policy> = []) {
    const all = [...policies].map(policy => ({ policy, lists: requiredOf(policy.subject) }));
    for (const { lists } of all) this.#count(lists.flat(), 1);
    for (const { policy, lists } of all) this.#place(policy, lists);
  }

  /** Adds or replaces the policy of this id; without a policy it is deleted. */
  put(id: PolicyId, policy: Policy | undefined): void {
    if (this.#placed.get(id)?.policy === policy) return;
    this.#remove(id);
    if (policy === undefined) return;
    const lists = requiredOf(policy.subject);
    this.#count(lists.flat(), 1);
    this.#place(policy, lists);
  }

  /** In order of precedence: all policies that select the pod or might select it, and perhaps others. */
  candidates(pod: Pod): readonly Policy[] {
    // If the pod's labels are not all known, any policy might select it (N68).
    if (pod.partial) return this.#all();
    const found = [...new Set(keysOf(pod))].flatMap(key => [...(this.#found.get(key)?.values() ?? [])]);
    return [...new Set(found)].sort(comparePolicies);
  }

  #all(): readonly Policy[] {
    this.#sorted ??= [...this.#placed.values()].map(({ policy }) => policy).sort(comparePolicies);
    return this.#sorted;
  }

  #place(policy: Policy, lists: readonly (readonly string[])[]): void {
    const keys = new Set(rarest(lists, this.#counts));
    this.#placed.set(policy.id, { policy, required: lists.flat(), keys });
    for (const key of keys)
      getOrMake(this.#found, key, () => new Map<PolicyId, Policy>()).set(policy.id, policy);
    this.#sorted = undefined;
  }

  #remove(id: PolicyId): void {
    const placed = this.#placed.get(id);
    if (placed === undefined) return;
    this.#placed.delete(id);
    this.#count(placed.required, -1);
    for (const key of placed.keys) {
      const known = this.#found.get(key);
      known?.delete(id);
      if (known?.size === 0) this.#found.delete(key);
    }
    this.#sorted = undefined;
  }

  #count(keys: readonly string[], by: 1 | -1): void {
    for (const key of keys) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }
}

const ANY = '';

/**
 * Lists of keys: the pod has to have one key of each list. They come from the namespace's name and from required
 * labels.
 */
function requiredOf({ namespaces, pods }: PodSelector): readonly (readonly string[])[] {
  const namespace = namespaces.kind === 'name' ? namespaces.name : ANY;
  const labels = pods.requirements.filter(({ operator }) => operator === 'In');
  return [
    [textOf(namespace, ANY)],
    ...labels.map(({ key, values }) => values.map(value => textOf(namespace, labelText(key, value)))),
  ];
}

/** The list whose keys the fewest policies share. */
function rarest(
  lists: readonly (readonly string[])[],
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  const shared = (keys: readonly string[]) => keys.reduce((sum, key) => sum + counts.get(key)!, 0);
  return lists.reduce((least, keys) => (shared(keys) < shared(least) ? keys : least));
}

function keysOf({ namespace, labels }: Pod): readonly string[] {
  const texts = [ANY, ...Object.entries(labels).map(([key, value]) => labelText(key, value))];
  return [ANY, namespace].flatMap(name => texts.map(text => textOf(name, text)));
}

/** The text of a label; different labels have different texts. */
function labelText(key: string, value: string): string {
  return `${key.length} ${key}${value}`;
}

function textOf(namespace: string, label: string): string {
  return `${namespace} ${label}`;
}
