/** The workload of a pod: the object that a person wrote, not the ReplicaSet or Job that it made. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Cluster, Pod } from './cluster.ts';
import type { Inventory } from './inventory.ts';
import { isWorkloadKind, type PodOrWorkload, workloadId } from './workload.ts';

/** The last of the pod's owners, as far as they are known. */
export function workloadOf({ workloads, podOwners }: Inventory, pod: Pod): PodOrWorkload {
  const owner = podOwners.get(pod.key);
  if (owner === undefined || !isWorkloadKind(owner.kind)) return { kind: 'Pod', id: `Pod ${pod.key}` };
  const own = workloadId(owner.kind, pod.namespace, owner.name);
  const above = workloads.get(own)?.owner ?? deploymentOf(pod, owner.kind, owner.name);
  if (above === undefined || !isWorkloadKind(above.kind)) return { kind: owner.kind, id: own };
  return { kind: above.kind, id: workloadId(above.kind, pod.namespace, above.name) };
}

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
      owner === undefined ||
      !isWorkloadKind(owner.kind) ||
      !workloads.has(workloadId(owner.kind, namespace, owner.name)),
  );
}
