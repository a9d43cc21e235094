/** The workload of a pod: the object that a person wrote, not the ReplicaSet or Job that it made. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Cluster, Pod } from './cluster.ts';
import type { Inventory } from './inventory.ts';
import {
  isWorkloadKind,
  type PodOrWorkload,
  type Workload,
  type WorkloadId,
  workloadId,
} from './workload.ts';
import { deploymentName } from './workloadbylabels.ts';

/** The last of the pod's owners, as far as they are known. */
export function workloadOf({ workloads, podOwners }: Inventory, pod: Pod): PodOrWorkload {
  const owner = podOwners.get(pod.key);
  if (owner === undefined || owner.kind === STATIC) return { kind: 'Pod', id: `Pod ${pod.key}` };
  const { kind, name } = owner;
  const own = workloadId(kind, pod.namespace, name);
  const above = workloads.get(own)?.owner ?? deploymentOf(pod, kind, name);
  if (above === undefined) return { kind, id: own };
  const top = workloadId(above.kind, pod.namespace, above.name);
  const isTop = isWorkloadKind(above.kind) || workloads.has(top) || GENERATIONS.includes(kind);
  return isTop ? { kind: above.kind, id: top } : { kind, id: own };
}

/** The owner of a static pod is its node. Any other kind makes pods, whether or not its objects can be listed. */
const STATIC = 'Node';

/** Nobody writes these where they have an owner, such as a Deployment, a Rollout or a DeploymentConfig. */
const GENERATIONS: readonly string[] = ['ReplicaSet', 'ReplicationController'];

/** Of a ReplicaSet that is not listed. */
function deploymentOf({ labels }: Pod, kind: string, name: string) {
  const own = kind === 'ReplicaSet' ? deploymentName(name, labels) : undefined;
  return own === undefined ? undefined : { kind: 'Deployment', name: own };
}

/** The pods of each workload, and each other pod by itself, without finished pods. */
export function podsByWorkload(
  cluster: Cluster,
  inventory: Inventory,
): ReadonlyMap<PodOrWorkload['id'], readonly Pod[]> {
  const groups = new Map<PodOrWorkload['id'], Pod[]>();
  for (const pod of cluster.pods.values()) {
    if (pod.finished) continue;
    const { id } = workloadOf(inventory, pod);
    getOrMake(groups, id, () => []).push(pod);
  }
  return groups;
}

/**
 * Workloads that a person wrote: not those that another one of the inventory made. A cluster lists no Rollouts, but the
 * generations of each, which are one workload.
 */
export function topWorkloads({ workloads }: Inventory): Workload[] {
  const found = new Map<WorkloadId, Workload>();
  for (const each of workloads.values()) {
    const { kind, namespace, owner } = each;
    const above = owner && workloadId(owner.kind, namespace, owner.name);
    if (above !== undefined && workloads.has(above)) continue;
    const isGeneration = above !== undefined && GENERATIONS.includes(kind);
    const top = isGeneration ? { ...each, ...owner!, id: above } : each;
    // Of old generations nothing runs.
    if (!found.has(top.id) || each.replicas !== 0) found.set(top.id, top);
  }
  return [...found.values()];
}
