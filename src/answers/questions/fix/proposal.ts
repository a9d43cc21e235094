/** The smallest policies that allow or deny one connection, as the objects that people apply. */
import { addressBits, familyOf } from '../../../model/address.ts';
import { NAMESPACE_NAME_LABEL, type Pod } from '../../../model/cluster.ts';
import type { Labels } from '../../../model/labels.ts';
import type { Packet } from '../../../semantics/match.ts';

/** A Kubernetes object. */
export type PolicyObject = Readonly<Record<string, unknown>>;

/** Labels that one pod or one revision has alone: no policy should select by them. */
const OF_THE_MOMENT = [
  'pod-template-hash',
  'controller-revision-hash',
  'pod-template-generation',
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
];

function lastingLabels({ labels }: Pod): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !OF_THE_MOMENT.includes(key)));
}

/** Writes a selector of one pod that selects as few others as labels allow. */
export type SelectorOf = (pod: Pod) => PolicyObject;

/** A selector for one pod among all pods of its namespace: it excludes pods that have the same labels and more. */
export function selectorAmong(pods: Iterable<Pod>): SelectorOf {
  const all = [...pods];
  return pod => {
    const labels = lastingLabels(pod);
    const others = all.filter(other => other.namespace === pod.namespace && hasAll(other, labels));
    const extra = new Set(others.flatMap(other => Object.keys(lastingLabels(other))));
    for (const key of Object.keys(labels)) extra.delete(key);
    const matchExpressions = [...extra].sort().map(key => ({ key, operator: 'DoesNotExist' }));
    return {
      ...(Object.keys(labels).length > 0 && { matchLabels: labels }),
      ...(matchExpressions.length > 0 && { matchExpressions }),
    };
  };
}

function hasAll({ labels }: Pod, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** One more rule for pods that are isolated already: it opens, and closes nothing. */
export function proposedNetworkPolicy(
  packet: Packet,
  name: string,
  selectorOf: SelectorOf,
): PolicyObject & { readonly spec: object } {
  const { subject, direction } = packet;
  const isIngress = direction === 'ingress';
  const rule = {
    [isIngress ? 'from' : 'to']: [peerOf(packet, selectorOf)],
    ...(portOf(packet) && { ports: [portOf(packet)] }),
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: subject.namespace },
    spec: {
      podSelector: selectorOf(subject),
      policyTypes: [isIngress ? 'Ingress' : 'Egress'],
      [direction]: [rule],
    },
  };
}

function peerOf({ subject, peerPod, peer }: Packet, selectorOf: SelectorOf): PolicyObject {
  if (peerPod === undefined) return { ipBlock: { cidr: `${peer}/${addressBits(familyOf(peer))}` } };
  const podSelector = selectorOf(peerPod);
  if (peerPod.namespace === subject.namespace) return { podSelector };
  return { namespaceSelector: namespaceNamed(peerPod.namespace), podSelector };
}

function namespaceNamed(name: string): PolicyObject {
  return { matchLabels: { [NAMESPACE_NAME_LABEL]: name } };
}

function portOf({ flow: { protocol, port } }: Packet): PolicyObject | undefined {
  return port === undefined ? undefined : { protocol, port };
}

export interface ClusterChoice {
  readonly kind: 'ClusterNetworkPolicy' | 'AdminNetworkPolicy';
  readonly action: 'Allow' | 'Deny';
  /** 0..1000. */
  readonly priority: number;
}

/** Undefined if the kind cannot express such a peer: outside addresses as a source, a protocol without ports. */
export function clusterPolicy(
  packet: Packet,
  name: string,
  choice: ClusterChoice,
  selectorOf: SelectorOf,
  domain?: string,
): (PolicyObject & { readonly spec: PolicyObject & { readonly priority: number } }) | undefined {
  const { direction, subject, peerPod, peer, flow } = packet;
  const { kind, action, priority } = choice;
  if (peerPod === undefined && direction === 'ingress') return undefined;
  const isNew = kind === 'ClusterNetworkPolicy';
  const to =
    domain !== undefined
      ? { domainNames: [domain] }
      : peerPod === undefined
        ? { networks: [`${peer}/${addressBits(familyOf(peer))}`] }
        : { pods: podsOf(peerPod, selectorOf) };
  const ports = isNew ? { protocols: [protocolOf(packet)] } : { ports: [oldPort(packet)] };
  const rule = {
    name: `${action.toLowerCase()}-one`,
    action: isNew && action === 'Allow' ? 'Accept' : action,
    [direction === 'ingress' ? 'from' : 'to']: [to],
    ...(flow.port !== undefined && ports),
  };
  return {
    apiVersion: `policy.networking.k8s.io/${isNew ? 'v1alpha2' : 'v1alpha1'}`,
    kind,
    metadata: { name },
    spec: {
      ...(isNew && { tier: 'Admin' }),
      priority,
      subject: { pods: podsOf(subject, selectorOf) },
      [direction]: [rule],
    },
  };
}

function podsOf(pod: Pod, selectorOf: SelectorOf): PolicyObject {
  return { namespaceSelector: namespaceNamed(pod.namespace), podSelector: selectorOf(pod) };
}

function protocolOf({ flow: { protocol, port } }: Packet): PolicyObject {
  return { [String(protocol).toLowerCase()]: { destinationPort: { number: port } } };
}

function oldPort({ flow: { protocol, port } }: Packet): PolicyObject {
  return { portNumber: { protocol, port } };
}
