/** Audited policies: the cluster as if they were enforced, and a note for people. */

import { firstOf } from '../lib/text/firstof.ts';
import type { Cluster } from './cluster.ts';
import type { Policy, PolicyId } from './policy.ts';

/** The policy as it will be without the annotation. */
export function enforced({ audited: _, ...policy }: Policy): Policy {
  return policy;
}

/** The same cluster with these of its audited policies in force; with all of them if no ids are given. */
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

/** A note for answers that leave these policies out. */
export function auditedNote({ audited }: Cluster): readonly string[] {
  const ids = [...(audited?.keys() ?? [])].sort();
  if (ids.length === 0) return [];
  const effect =
    ids.length === 1
      ? 'it protects nothing, and counts for nothing here'
      : 'they protect nothing, and count for nothing here';
  return [`audited, not enforced: ${firstOf(ids, MOST_NAMED)}; ${effect}`];
}
