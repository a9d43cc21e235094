/** Who may speak: workloads by their templates, other pods by themselves, and what the operator of Prometheus makes. */
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import type { PodMaker, WorkloadId } from '../../model/workload.ts';
import { podsByWorkload, topWorkloads } from '../../model/workloadof.ts';
import { workloadText } from '../questions/endpoint.ts';

/** A workload, a pod by itself, or the pods that an operator makes for a Prometheus. */
export interface Member {
  /** `Deployment shop/web`. */
  readonly id: string;
  readonly name: string;
  /** As questions name it. */
  readonly text: string;
  /** One of its pods, or as its template would make it. */
  readonly pod: Pod;
  readonly workload?: WorkloadId;
  /** By which its pods are selected, where no object of theirs is known. */
  readonly selector?: Labels;
}

/** By their ids. */
export function membersOf(cluster: Cluster, inventory: Inventory): Map<string, Member> {
  const found = new Map<string, Member>();
  for (const { id, kind, namespace, name, labels, partial, ports, hostNetwork } of topWorkloads(inventory)) {
    const text = workloadText(kind, namespace, name);
    const pod = {
      ...NOWHERE,
      key: text,
      namespace,
      name,
      labels,
      ports,
      hostNetwork,
      ...(partial && { partial }),
    };
    found.set(id, { id, name, text, pod, workload: id });
  }
  for (const [id, [pod]] of podsByWorkload(cluster, inventory)) {
    if (found.has(id)) continue;
    const name = id.slice(id.indexOf('/') + 1);
    const workload = id.startsWith('Pod ') ? {} : { workload: id as WorkloadId };
    found.set(id, { id, name, text: pod!.key, pod: pod!, ...workload });
  }
  for (const { kind, namespace, name } of inventory.podMakers.filter(isPrometheus)) {
    const labels = { [NAME_LABEL]: 'prometheus', 'operator.prometheus.io/name': name };
    const text = `${namespace}/${Object.entries(labels)
      .map(label => label.join('='))
      .join(',')}` as const;
    const pod = { ...NOWHERE, key: text, namespace, name, labels, ports: [], hostNetwork: false };
    found.set(`${kind} ${namespace}/${name}`, {
      id: `${kind} ${namespace}/${name}`,
      name,
      text,
      pod,
      selector: labels,
    });
  }
  return found;
}

/** Whether it is known which labels its pods have. */
export function isPrometheus({ kind }: PodMaker): boolean {
  return kind === 'Prometheus' || kind === 'PrometheusAgent';
}

const NOWHERE = { node: '', addresses: [], finished: false, createdAt: '' } as const;

/** The label that charts give the name of a program. */
export const NAME_LABEL = 'app.kubernetes.io/name';
