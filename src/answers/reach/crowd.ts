/** Whom a matrix is about: the workloads of a cluster, with the pods that they have, or as their templates would make them. */
import { type Cluster, isSelectable, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import { podsByWorkload, topWorkloads } from '../../model/workloadof.ts';
import type { ImaginedPod } from './landscape.ts';
import type { Member } from './place.ts';

export interface Crowd {
  /** Pods without an address, and templates of workloads without pods. */
  readonly imagined: readonly (ImaginedPod & { readonly workload: string })[];
  /** The workload of each pod: `Deployment shop/web`, `Pod shop/web`. */
  readonly workloadOf: ReadonlyMap<Pod, string>;
}

export function crowdOf(cluster: Cluster, inventory: Inventory): Crowd {
  const workloads = podsByWorkload(cluster, inventory);
  const workloadOf = new Map([...workloads].flatMap(([id, pods]) => pods.map(pod => [pod, id] as const)));
  const pending = [...workloadOf].filter(([pod]) => isSelectable(pod) && pod.addresses.length === 0);
  const without = topWorkloads(inventory).filter(({ id, hostNetwork }) => !workloads.has(id) && !hostNetwork);
  const imagine = (workload: string, { namespace, ...pod }: PodOrTemplate) => ({
    ...pod,
    namespace: namespaceOf(cluster, namespace),
    workload,
  });
  return {
    imagined: [
      ...pending.map(([pod, workload]) => imagine(workload, pod)),
      ...without.map(workload => imagine(workload.id, workload)),
    ],
    workloadOf,
  };
}

interface PodOrTemplate {
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: Pod['ports'];
}

/** Undefined for what is no pod. */
export function workloadOfMember({ imagined, workloadOf }: Crowd, member: Member): string | undefined {
  if (member.kind === 'pod') return workloadOf.get(member.pod);
  return member.kind === 'imagined' ? imagined[member.index]!.workload : undefined;
}
