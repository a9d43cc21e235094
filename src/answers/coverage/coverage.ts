/** Which workloads policies isolate, by direction, and which policies and rules are about nobody. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import {
  comparePolicies,
  DIRECTIONS,
  type Direction,
  type Policy,
  type PolicyId,
} from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import { Candidates } from '../lint/candidates.ts';
import { type Asked, type CoveredWorkload, coveredWorkloads } from './isolation.ts';

export interface Coverage {
  readonly workloads: readonly CoveredWorkload[];
  /** Policies that select nobody, though there are pods or workloads that they could have meant. */
  readonly unusedPolicies: readonly PolicyId[];
  /** Rules whose peers are nobody, in the same sense. */
  readonly unusedRules: readonly { readonly policy: PolicyId; readonly rule: string }[];
}

export function coverageOf(cluster: Cluster, inventory: Inventory, isAsked: Asked): Coverage {
  const policies = [...cluster.policies.values()].toSorted(comparePolicies);
  const candidates = new Candidates(cluster, inventory);
  const isNobody = (selector: PodSelector) =>
    candidates.selectsNone(selector) && candidates.makersFor(selector).length === 0;
  const unused = policies.filter(({ subject }) => isNobody(subject));
  const used = policies.filter(policy => !unused.includes(policy));
  return {
    workloads: coveredWorkloads(cluster, inventory, isAsked),
    unusedPolicies: unused.map(({ id }) => id),
    unusedRules: used.flatMap(policy => unusedRules(policy, isNobody)),
  };
}

function unusedRules(policy: Policy, isNobody: (selector: PodSelector) => boolean) {
  return DIRECTIONS.flatMap(direction => policy[direction] ?? [])
    .filter(
      ({ peers }) => peers !== 'any' && peers.every(peer => peer.kind === 'pods' && isNobody(peer.selector)),
    )
    .filter(({ peers }) => peers.length > 0)
    .map(({ path }) => ({ policy: policy.id, rule: path }));
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
