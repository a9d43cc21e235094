/** Which workloads policies isolate, by direction, and which policies and rules are about nobody. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import {
  comparePolicies,
  DIRECTIONS,
  type Direction,
  type Policy,
  type PolicyId,
} from '../../model/policy.ts';
import { type PodSelector, podSelectorText } from '../../model/selector.ts';
import { Candidates } from '../lint/candidates.ts';
import { hintOf, namespacesNotThere } from '../lint/selectors.ts';
import { type Asked, type CoveredWorkload, coveredWorkloads } from './isolation.ts';

export interface Coverage {
  readonly workloads: readonly CoveredWorkload[];
  /** Policies that select nobody, though there are pods or workloads that they could have meant. */
  readonly unusedPolicies: readonly PolicyId[];
  /** Rules whose peers are nobody: pods in the same sense, or in namespaces that are not there. */
  readonly unusedRules: readonly UnusedRule[];
}

interface UnusedRule {
  readonly policy: PolicyId;
  readonly rule: string;
  /** `there are no namespaces team=pyments (did you mean team=payments?)`. */
  readonly reason: string;
}

export function coverageOf(cluster: Cluster, inventory: Inventory, isAsked: Asked): Coverage {
  const policies = [...cluster.policies.values()].toSorted(comparePolicies);
  const candidates = new Candidates(cluster, inventory);
  const nobody = new Nobody(cluster, candidates);
  const unused = policies.filter(({ subject }) => nobody.isAmongPods(subject));
  const areUnused = new Set(unused);
  const used = policies.filter(policy => !areUnused.has(policy));
  return {
    workloads: coveredWorkloads(cluster, inventory, isAsked),
    unusedPolicies: unused.map(({ id }) => id),
    unusedRules: used.flatMap(policy => unusedRules(policy, nobody)),
  };
}

/** Selectors that mean none of the pods and workloads. */
class Nobody {
  readonly #cluster: Cluster;
  readonly #candidates: Candidates;

  constructor(cluster: Cluster, candidates: Candidates) {
    this.#cluster = cluster;
    this.#candidates = candidates;
  }

  /** Whether its namespaces have some, and nothing else makes pods there. */
  isAmongPods(selector: PodSelector): boolean {
    return this.#candidates.selectsNone(selector) && this.#candidates.makersFor(selector).length === 0;
  }

  /** Who is not there, as a list continues: `pods app=front in namespace shop`. Undefined where somebody may be. */
  nameOf(selector: PodSelector): string | undefined {
    const candidates = this.#candidates;
    const nowhere = namespacesNotThere(selector, { cluster: this.#cluster, candidates });
    if (nowhere !== undefined) return `namespaces ${nowhere.labels}${hintOf(nowhere.near)}`;
    if (!this.isAmongPods(selector)) return undefined;
    return `${podSelectorText(selector)}${hintOf(candidates.nearLabel(selector))}`;
  }
}

const MOST_NAMED = 3;

function unusedRules(policy: Policy, nobody: Nobody): UnusedRule[] {
  return DIRECTIONS.flatMap(direction => policy[direction] ?? []).flatMap(({ peers, path }) => {
    if (peers === 'any' || peers.length === 0) return [];
    const names = peers.map(peer => (peer.kind === 'pods' ? nobody.nameOf(peer.selector) : undefined));
    if (names.includes(undefined)) return [];
    const reason = `there are no ${firstOf([...new Set(names)], MOST_NAMED, String)}`;
    return [{ policy: policy.id, rule: path, reason }];
  });
}

export interface Counted {
  readonly workloads: number;
  readonly isolated: number;
}

export function counted(workloads: readonly CoveredWorkload[], direction: Direction): Counted {
  return { workloads: workloads.length, isolated: workloads.filter(each => each[direction].isolated).length };
}

/** Rounded down, so that only all are 100. */
export function percentOf({ workloads, isolated }: Counted): number {
  return workloads === 0 ? 100 : Math.floor((isolated * 100) / workloads);
}

export function byNamespace(
  workloads: readonly CoveredWorkload[],
): ReadonlyMap<string, readonly CoveredWorkload[]> {
  const found = new Map<string, CoveredWorkload[]>();
  for (const workload of workloads) getOrMake(found, workload.namespace, () => []).push(workload);
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
