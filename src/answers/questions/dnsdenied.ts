/** Whether the source of a question may ask the cluster's DNS: a program that dials a name fails before it connects. */

import { type Address, familyOf } from '../../model/address.ts';
import { type Cluster, isSelectable, type Pod } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { evaluator, type FlowVerdict } from '../../semantics/evaluate.ts';
import type { NamedEndpoint } from './endpoint.ts';
import { podOf, type ResolvedEndpoint } from './place.ts';

/** Each source is judged to each server of DNS. */
const MOST_SOURCES = 16;
const MOST_SERVERS = 4;

/** One sentence for the first source that may ask no server; nothing where the destination is an address or a pod. */
export function dnsDeniedNotes(
  { name }: NamedEndpoint,
  sources: readonly ResolvedEndpoint[],
  cluster: Cluster,
  unknownPods: UnknownPods,
): readonly string[] {
  if (name.kind !== 'service' && name.kind !== 'domain') return [];
  const servers = [...cluster.pods.values()].filter(isDnsServer).slice(0, MOST_SERVERS);
  if (servers.length === 0) return [];
  const evaluate = evaluator(cluster, unknownPods);
  for (const source of sources.slice(0, MOST_SOURCES)) {
    const pod = podOf(source);
    const verdicts = (pod?.addresses ?? []).flatMap(from =>
      servers.flatMap(server =>
        serverEnds(server, from).map(to => evaluate({ from, to, protocol: 'UDP', port: portOf(server) })),
      ),
    );
    if (verdicts.length > 0 && verdicts.every(({ verdict }) => verdict === 'deny'))
      return [`${source.name} cannot look the name up, because DNS is denied: ${reasonOf(verdicts[0]!)}`];
  }
  return [];
}

/** As every installation of Kubernetes labels them. */
function isDnsServer(pod: Pod): boolean {
  return pod.namespace === 'kube-system' && pod.labels['k8s-app'] === 'kube-dns' && isSelectable(pod);
}

function serverEnds({ addresses }: Pod, from: Address): readonly Address[] {
  return addresses.filter(to => familyOf(to) === familyOf(from));
}

function portOf({ ports }: Pod): number {
  return ports.find(({ name, protocol }) => name === 'dns' && protocol === 'UDP')?.port ?? 53;
}

function reasonOf({ egress, ingress }: FlowVerdict): string {
  return (egress.verdict === 'deny' ? egress : ingress).reason;
}
