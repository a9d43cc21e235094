/** Whether the source of a question may ask the cluster's DNS: a program that dials a name fails before it connects. */

import { isSelectable, type Pod } from '../../model/cluster.ts';
import { hasLabels, type Labels } from '../../model/labels.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { type EndpointName, type NamedEndpoint, workloadText } from './endpoint.ts';
import type { ClusterView } from './place.ts';
import type { GivenQuestion } from './traffic.ts';

interface Asked {
  readonly verdict: 'allow' | 'deny' | 'undecided';
  readonly reason: string;
}

/**
 * `ask` judges another question of the same cluster. Nothing where the source is no pod, where the destination is an
 * address, or where no name leads to it.
 */
export function dnsDeniedNotes(
  [from, to]: readonly [NamedEndpoint, NamedEndpoint],
  pods: readonly Pod[],
  question: GivenQuestion,
  view: ClusterView,
  ask: (question: GivenQuestion) => Asked,
): readonly string[] {
  if (!IN_PODS.includes(from.name.kind)) return [];
  const name = nameDialled(to, pods, view);
  const server = name === undefined ? undefined : dnsServerIn(view);
  if (server === undefined || to.text.startsWith(server)) return [];
  const why = whyDenied({ ...question, to: `${server}:53/UDP` }, view, ask);
  return why === undefined ? [] : [`${question.from} cannot look ${name} up, because DNS is denied: ${why}`];
}

const IN_PODS: readonly EndpointName['kind'][] = ['pod', 'workload', 'labels'];

/** Programs dial what is asked about as a pod by the name of the Service that leads there. */
function nameDialled({ name, port }: NamedEndpoint, pods: readonly Pod[], { inventory }: ClusterView) {
  if (name.kind === 'service' || name.kind === 'domain') return 'the name';
  if (!IN_PODS.includes(name.kind) || port === '53') return undefined;
  for (const { namespace, selector, name: service } of inventory.services.values())
    if (selector && pods.some(pod => pod.namespace === namespace && hasLabels(pod.labels, selector)))
      return `${service}.${namespace}`;
  return undefined;
}

/** The reasons by source: many questions of one cluster have the same. */
const reasonsOf = new WeakMap<ClusterView, Map<string, string | undefined>>();

function whyDenied(question: GivenQuestion, view: ClusterView, ask: (question: GivenQuestion) => Asked) {
  if (question.given !== undefined) return deniedBecause(question, ask);
  const known = reasonsOf.get(view) ?? new Map<string, string | undefined>();
  reasonsOf.set(view, known);
  if (!known.has(question.from)) known.set(question.from, deniedBecause(question, ask));
  return known.get(question.from);
}

function deniedBecause(question: GivenQuestion, ask: (question: GivenQuestion) => Asked): string | undefined {
  try {
    const { verdict, reason } = ask(question);
    return verdict === 'deny' ? reason : undefined;
  } catch (error) {
    if (error instanceof FlowTextError) return undefined;
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
