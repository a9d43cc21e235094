/** Whether the source of a question may ask the cluster's DNS: a program that dials a name fails before it connects. */

import { isSelectable } from '../../model/cluster.ts';
import type { Labels } from '../../model/labels.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { type NamedEndpoint, workloadText } from './endpoint.ts';
import type { ClusterView } from './place.ts';
import type { GivenQuestion } from './traffic.ts';

interface Asked {
  readonly verdict: 'allow' | 'deny' | 'undecided';
  readonly reason: string;
}

/** `ask` judges another question of the same cluster. Nothing where the destination is an address or a pod. */
export function dnsDeniedNotes(
  to: NamedEndpoint,
  question: GivenQuestion,
  view: ClusterView,
  ask: (question: GivenQuestion) => Asked,
): readonly string[] {
  if (to.name.kind !== 'service' && to.name.kind !== 'domain') return [];
  const server = dnsServerIn(view);
  if (server === undefined || to.text.startsWith(server)) return [];
  try {
    const { verdict, reason } = ask({ ...question, to: `${server}:53/UDP` });
    if (verdict !== 'deny') return [];
    return [`${question.from} cannot look the name up, because DNS is denied: ${reason}`];
  } catch (error) {
    if (error instanceof FlowTextError) return [];
    throw error;
  }
}

/** The cluster's DNS as the end of a question: its Service, or who is behind it where Services are not known. */
function dnsServerIn({ cluster, inventory }: ClusterView): string | undefined {
  for (const service of inventory.services.values())
    if (isOfDns(service.namespace, service.selector)) return `${SYSTEM}/svc/${service.name}`;
  for (const pod of cluster.pods.values())
    if (isOfDns(pod.namespace, pod.labels) && isSelectable(pod)) return pod.key;
  const workload = topWorkloads(inventory).find(({ namespace, labels }) => isOfDns(namespace, labels));
  return workload && workloadText(workload.kind, workload.namespace, workload.name);
}

const SYSTEM = 'kube-system';

/** As every installation of Kubernetes labels it. */
function isOfDns(namespace: string, labels: Labels | undefined): boolean {
  return namespace === SYSTEM && labels?.['k8s-app'] === 'kube-dns';
}
