/** The smallest policies that allow or deny one connection, as the objects that people apply. */
import { NAMESPACE_NAME_LABEL } from '../../../model/cluster.ts';
import type { Direction } from '../../../model/policy.ts';
import type { Packet } from '../../../semantics/match.ts';
import type { PodsSide, Side, Sides } from './sides.ts';

/** A Kubernetes object. */
export type PolicyObject = Readonly<Record<string, unknown>>;

/** One more rule for pods that are isolated already: it opens, and closes nothing. */
export function proposedNetworkPolicy(
  packet: Packet,
  name: string,
  { subject, peer }: Sides,
): PolicyObject & { readonly spec: object } {
  const isIngress = packet.direction === 'ingress';
  const rule = {
    [isIngress ? 'from' : 'to']: peersOf(peer, subject.namespace),
    ...(portOf(packet) && { ports: [portOf(packet)] }),
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: subject.namespace },
    spec: {
      podSelector: subject.selector,
      policyTypes: [isIngress ? 'Ingress' : 'Egress'],
      [packet.direction]: [rule],
    },
  };
}

/** NetworkPolicies of one name whose rules differ in their peers alone, as of a Service that leads to several addresses, are one. */
export function withJoinedPeers<T extends PolicyObject>(objects: readonly T[]): T[] {
  const found = new Map<string, T>();
  for (const object of objects) {
    const text = JSON.stringify(withPeers(object, []));
    const known = found.get(text);
    found.set(text, known === undefined ? object : withPeers(known, [...peersIn(known), ...peersIn(object)]));
  }
  return [...found.values()];
}

type Peers = readonly PolicyObject[];
type Rules = readonly [{ readonly from?: Peers; readonly to?: Peers }];

function rulesIn({ kind, spec }: PolicyObject): readonly [Direction, Rules] | undefined {
  const { ingress, egress } = spec as { readonly ingress?: Rules; readonly egress?: Rules };
  if (kind !== 'NetworkPolicy') return undefined;
  return ingress === undefined ? ['egress', egress!] : ['ingress', ingress];
}

function peersIn(object: PolicyObject): Peers {
  const [rule] = rulesIn(object)?.[1] ?? [{}];
  return rule.from ?? rule.to ?? [];
}

/** A cluster policy stays as it is. */
function withPeers<T extends PolicyObject>(object: T, peers: Peers): T {
  const found = rulesIn(object);
  if (found === undefined) return object;
  const [direction, [rule]] = found;
  const rules = [{ ...rule, [direction === 'ingress' ? 'from' : 'to']: peers }];
  return { ...object, spec: { ...(object.spec as object), [direction]: rules } };
}

/** None for a domain name, which a NetworkPolicy cannot express. */
function peersOf(peer: Side, own: string): readonly PolicyObject[] {
  if (peer.kind === 'domain') return [];
  if (peer.kind === 'networks') return peer.blocks.map(ipBlock => ({ ipBlock }));
  const { namespace, selector: podSelector } = peer;
  return [
    namespace === own ? { podSelector } : { namespaceSelector: namespaceNamed(namespace), podSelector },
  ];
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

/** Undefined if the kind cannot express such a peer: outside addresses as a source, networks without a part of them. */
export function clusterPolicy(
  packet: Packet,
  name: string,
  { kind, action, priority }: ClusterChoice,
  { subject, peer }: Sides,
): (PolicyObject & { readonly spec: PolicyObject & { readonly priority: number } }) | undefined {
  const { direction, flow } = packet;
  const other = clusterPeer(peer, direction);
  if (other === undefined) return undefined;
  const isNew = kind === 'ClusterNetworkPolicy';
  const ports = isNew ? { protocols: [protocolOf(packet)] } : { ports: [oldPort(packet)] };
  const rule = {
    name: `${action.toLowerCase()}-one`,
    action: isNew && action === 'Allow' ? 'Accept' : action,
    [direction === 'ingress' ? 'from' : 'to']: [other],
    ...(flow.port !== undefined && ports),
  };
  return {
    apiVersion: `policy.networking.k8s.io/${isNew ? 'v1alpha2' : 'v1alpha1'}`,
    kind,
    metadata: { name },
    spec: {
      ...(isNew && { tier: 'Admin' }),
      priority,
      subject: { pods: podsOf(subject) },
      [direction]: [rule],
    },
  };
}

function clusterPeer(peer: Side, direction: Direction): PolicyObject | undefined {
  if (peer.kind === 'pods') return { pods: podsOf(peer) };
  if (peer.kind === 'domain') return { domainNames: [peer.name] };
  const isWhole = peer.blocks.every(({ except }) => except === undefined);
  return direction === 'egress' && isWhole ? { networks: peer.blocks.map(({ cidr }) => cidr) } : undefined;
}

function podsOf({ namespace, selector }: PodsSide): PolicyObject {
  return { namespaceSelector: namespaceNamed(namespace), podSelector: selector };
}

function protocolOf({ flow: { protocol, port } }: Packet): PolicyObject {
  return { [String(protocol).toLowerCase()]: { destinationPort: { number: port } } };
}

function oldPort({ flow: { protocol, port } }: Packet): PolicyObject {
  return { portNumber: { protocol, port } };
}
