/** Policies that are audited: the cluster as it would be if they were enforced, and what people are told of them. */

import { firstOf } from '../lib/text/firstof.ts';
import type { Cluster } from './cluster.ts';
import type { Policy, PolicyId } from './policy.ts';

/** As `ClusterState` would have it after the annotation is gone. */
export function enforced({ audited: _, ...policy }: Policy): Policy {
  return policy;
}

/** The same cluster with these of its audited policies in force; with all of them where none are named. */
export function withEnforced(cluster: Cluster, ids?: Iterable<PolicyId>): Cluster {
  const { audited = new Map<PolicyId, Policy>() } = cluster;
  const chosen = [...(ids ?? audited.keys())].filter(id => audited.has(id));
  const policies = new Map(cluster.policies);
  const rest = new Map(audited);
  for (const id of chosen) {
    policies.set(id, enforced(audited.get(id)!));
    rest.delete(id);
  }
  return { ...cluster, policies, audited: rest };
}

const MOST_NAMED = 5;

/** A sentence beside an answer that is given as if these policies did not exist. */
export function auditedNote({ audited }: Cluster): readonly string[] {
  const ids = [...(audited?.keys() ?? [])].sort();
  if (ids.length === 0) return [];
  const effect =
    ids.length === 1
      ? 'it protects nothing, and counts for nothing here'
      : 'they protect nothing, and count for nothing here';
  return [`audited, not enforced: ${firstOf(ids, MOST_NAMED)}; ${effect}`];
}
