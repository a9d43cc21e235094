/** The workload of a pod: the object that a person wrote, not the ReplicaSet or Job that it made. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Cluster, Pod } from './cluster.ts';
import type { Inventory } from './inventory.ts';
import { isWorkloadKind, type PodOrWorkload, workloadId } from './workload.ts';

/** The last of the pod's owners, as far as they are known. */
export function workloadOf({ workloads, podOwners }: Inventory, pod: Pod): PodOrWorkload {
  const owner = podOwners.get(pod.key);
  const own = owner && workloadId(owner.kind, pod.namespace, owner.name);
  if (own === undefined || !(isWorkloadKind(owner!.kind) || workloads.has(own)))
    return { kind: 'Pod', id: `Pod ${pod.key}` };
  const { kind, name } = owner!;
  const above = workloads.get(own)?.owner ?? deploymentOf(pod, kind, name);
  if (above === undefined) return { kind, id: own };
  const top = workloadId(above.kind, pod.namespace, above.name);
  const isTop = isWorkloadKind(above.kind) || workloads.has(top) || GENERATIONS.includes(kind);
  return isTop ? { kind: above.kind, id: top } : { kind, id: own };
}

/** Nobody writes these where they have an owner, such as a Deployment, a Rollout or a DeploymentConfig. */
const GENERATIONS: readonly string[] = ['ReplicaSet', 'ReplicationController'];

/** A Deployment's ReplicaSets are named after it and a hash, which is also a label of their pods. */
function deploymentOf({ labels }: Pod, kind: string, name: string) {
  const hash = labels['pod-template-hash'];
  if (kind !== 'ReplicaSet' || hash === undefined || !name.endsWith(`-${hash}`)) return undefined;
  return { kind: 'Deployment', name: name.slice(0, -hash.length - 1) };
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

/** Workloads that a person wrote: not those that another one of the inventory made. */
export function topWorkloads({ workloads }: Inventory) {
  return [...workloads.values()].filter(
    ({ owner, namespace }) =>
      owner === undefined || !workloads.has(workloadId(owner.kind, namespace, owner.name)),
  );
}
