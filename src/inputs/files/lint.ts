/** Warnings about a cluster as a whole, although each of its objects can be read. */
import { firstOf } from '../../lib/text/firstof.ts';
import {
  type Address,
  addressBits,
  type Cidr,
  cidrContains,
  cidrText,
  familyOf,
} from '../../model/address.ts';
import { type Cluster, internalIpsOf, isSelectable, type Node, type Pod } from '../../model/cluster.ts';
import {
  comparePolicies,
  DIRECTIONS,
  type Direction,
  namespaceOfPolicy,
  type Policy,
  type Rule,
} from '../../model/policy.ts';
import type { NamedPort } from '../../model/ports.ts';
import type { Problem, WarningCode } from '../../model/problem.ts';
import type { PodSelector } from '../../model/selector.ts';
import { tunnelNodes } from '../../model/tunneladdresses.ts';
import { makerText, type PodMaker, type Workload } from '../../model/workload.ts';
import { SubjectIndex } from './subjects.ts';

export function lintCluster(
  cluster: Cluster,
  services: readonly Cidr[],
  workloads: readonly Workload[] = [],
  makers: readonly PodMaker[] = [],
): readonly Problem[] {
  const policies = [...cluster.policies.values()].toSorted(comparePolicies);
  const subjects = new SubjectIndex(cluster, workloads, makers);
  const tunnels = tunnelNodes(cluster.nodes.values());
  return [
    ...[...cluster.pods.values()].flatMap(podWithoutAddress),
    ...policies.flatMap(policy => [
      ...missingNamespace(policy, cluster),
      ...emptySubject(policy, subjects),
      ...onlyNodes(policy, subjects),
      ...unknownPortNames(policy, subjects),
      ...serviceAddresses(policy, services),
      ...tunnelBlocks(policy, tunnels),
    ]),
    ...equalPriorities(policies),
  ];
}

function warning(code: WarningCode, object: string, field: string, message: string, effect: string): Problem {
  return { severity: 'warning', code, object, field, message, effect };
}

/** N50. A pod that nothing runs yet, as one in a repository, has no address to miss. */
function podWithoutAddress(pod: Pod): readonly Problem[] {
  if (!isSelectable(pod) || pod.addresses.length > 0 || pod.node === '') return [];
  return [
    warning(
      'no-address',
      `Pod ${pod.key}`,
      'status.podIPs',
      'holds no address',
      'no policy selects the pod until it has one',
    ),
  ];
}

const ALWAYS_THERE = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

function missingNamespace(policy: Policy, cluster: Cluster): readonly Problem[] {
  const namespace = namespaceOfPolicy(policy.id);
  // Manifests without any namespace may be policies only, whose namespaces are elsewhere.
  if (namespace === '' || cluster.namespaces.size === 0) return [];
  if (cluster.namespaces.has(namespace) || ALWAYS_THERE.includes(namespace)) return [];
  const message = `"${namespace}" does not exist`;
  return [
    warning(
      'missing-namespace',
      policy.id,
      'metadata.namespace',
      message,
      'the policy selects no pod until it does',
    ),
  ];
}

/**
 * N65: a subject without pods is legal, but worth a warning if there are pods or workloads that it could have meant.
 */
function emptySubject(policy: Policy, subjects: SubjectIndex): readonly Problem[] {
  if (!subjects.selectsNone(policy.subject)) return [];
  const field = policy.kind === 'NetworkPolicy' ? 'spec.podSelector' : 'spec.subject';
  return [
    warning(
      'empty-subject',
      policy.id,
      field,
      'selects none of the pods and workloads that are there',
      `the policy decides nothing${unlessUnread(subjects.makersFor(policy.subject))}`,
    ),
  ];
}

/** What a policy selects cannot be said where pods are not read. */
export function unlessUnread(makers: readonly PodMaker[]): string {
  if (makers.length === 0) return '';
  const names = firstOf(makers.map(makerText), MOST_OF_POLICY);
  return `, unless it means pods of ${names}: how these are made is not read`;
}

/** N45, N46: policy neither selects pods on the network of their node nor knows them by their labels. */
function onlyNodes(policy: Policy, subjects: SubjectIndex): readonly Problem[] {
  const { kind, id, subject } = policy;
  if (subjects.meansOnlyNodes(subject)) {
    const field = kind === 'NetworkPolicy' ? 'spec.podSelector' : 'spec.subject';
    return [
      hostNetwork(id, field, 'selects only pods', 'policy does not select them, so this one decides nothing'),
    ];
  }
  const rules = (['ingress', 'egress'] as const).flatMap(direction =>
    (policy[direction] ?? []).map(rule => ({ rule, side: direction === 'ingress' ? 'from' : 'to' })),
  );
  const effect = 'policy sees them as their nodes: name the addresses of the nodes';
  return rules
    .filter(({ rule }) => podSelectorsOf(rule).some(selector => subjects.meansOnlyNodes(selector)))
    .slice(0, MOST_OF_POLICY)
    .map(({ rule, side }) => hostNetwork(id, `spec.${rule.path}.${side}`, 'has a peer of only pods', effect));
}

function hostNetwork(id: string, field: string, what: string, effect: string): Problem {
  return warning('host-network', id, field, `${what} on the network of their node`, effect);
}

function podSelectorsOf({ peers }: Pick<Rule, 'peers'>): PodSelector[] {
  return peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
}

/** 4.20. A network of all addresses means the internet, and contains the pods behind a Service anyway. */
function serviceAddresses(policy: Policy, services: readonly Cidr[]): readonly Problem[] {
  return (policy.egress ?? []).flatMap(rule =>
    networksOf(rule)
      .filter(network => network.prefix > 0)
      .flatMap(network => {
        const service = services.find(candidate => overlaps(network, candidate));
        return service === undefined ? [] : [serviceAddress(policy, rule, network, service)];
      }),
  );
}

function networksOf({ peers }: Rule): readonly Cidr[] {
  return peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'network' ? [peer.cidr] : []));
}

function overlaps(a: Cidr, b: Cidr): boolean {
  return cidrContains(a, b.base) || cidrContains(b, a.base);
}

function serviceAddress(policy: Policy, rule: Rule, network: Cidr, service: Cidr): Problem {
  const message = `has the network ${cidrText(network)}, which covers the Service addresses ${cidrText(service)}`;
  const effect = 'it matches no traffic to a Service: policy sees the address of the pod behind it';
  return warning('service-address', policy.id, `spec.${rule.path}.to`, message, effect);
}

/** N75: written by hand for what a node sends to pods of other nodes, before its own address meant that. */
function tunnelBlocks(policy: Policy, tunnels: ReadonlyMap<Address, Node>): readonly Problem[] {
  const found: Problem[] = [];
  for (const direction of tunnels.size === 0 ? [] : DIRECTIONS)
    for (const rule of policy[direction] ?? [])
      for (const { base, prefix, family } of networksOf(rule)) {
        const node = prefix === addressBits(family) ? tunnels.get(base) : undefined;
        const own = node && internalIpsOf(node).find(address => familyOf(address) === family);
        if (own === undefined) continue;
        if (found.length === MOST_OF_POLICY) return found;
        const field = `spec.${rule.path}.${direction === 'ingress' ? 'from' : 'to'}`;
        const message = `has ${base}/${prefix}, from which node ${node!.name} sends into its tunnel`;
        const effect = `a network with ${own} means that too, and stays right when the node gets another pod network`;
        found.push(warning('tunnel-address', policy.id, field, message, effect));
      }
  return found;
}

/** C12, 4.19. */
function equalPriorities(sorted: readonly Policy[]): readonly Problem[] {
  const firsts = new Map<string, Policy>();
  return sorted.flatMap(policy => {
    const { tier, order, id } = policy;
    if (tier === 'networkpolicy') return [];
    const first = firsts.get(`${tier} ${order}`);
    if (first === undefined) {
      firsts.set(`${tier} ${order}`, policy);
      return [];
    }
    const message = `${order} in the ${tier} tier is that of ${first.id} too`;
    const effect = 'the other goes first, by kind and name';
    return [warning('equal-priority', id, 'spec.priority', message, effect)];
  });
}

/**
 * N29, N30: a named port means the ports of that name in the destination's containers, and matches nothing if none has
 * it. The check looks at few rules of one policy, so that repetitions of one author cost others little.
 */
const MOST_OF_POLICY = 5;

function unknownPortNames(policy: Policy, subjects: SubjectIndex): readonly Problem[] {
  const found: Problem[] = [];
  for (const direction of ['ingress', 'egress'] as const)
    for (const rule of policy[direction] ?? [])
      for (const port of namedPorts(rule)) {
        if (found.length === MOST_OF_POLICY) return found;
        const destinations = destinationsOf(policy, direction, rule);
        if (hasNobody(destinations, port, subjects))
          found.push(unknownPortName(policy, direction, rule, port));
      }
  return found;
}

function namedPorts({ ports }: Rule): readonly NamedPort[] {
  return ports === 'any' ? [] : ports.filter(port => port.kind === 'named');
}

/**
 * The pods that a rule's peers select. Absent if peers are not selectors of pods alone: a network may contain pods that
 * are in no manifest.
 */
function destinationsOf(policy: Policy, direction: Direction, { peers }: Rule): PodSelector[] | undefined {
  if (direction === 'ingress') return [policy.subject];
  if (peers === 'any') return undefined;
  const selectors = podSelectorsOf({ peers });
  return selectors.length === peers.length ? selectors : undefined;
}

/** Whether there are destinations, and none of them calls a port so. */
function hasNobody(
  destinations: PodSelector[] | undefined,
  port: NamedPort,
  subjects: SubjectIndex,
): boolean {
  if (destinations === undefined || !destinations.some(each => subjects.selectsAny(each))) return false;
  return !destinations.some(each => subjects.selectsPort(each, port));
}

function unknownPortName(
  { id }: Policy,
  direction: Direction,
  { path }: Rule,
  { name, protocol }: NamedPort,
): Problem {
  const whose = direction === 'ingress' ? 'that the policy selects' : 'that the rule means';
  const port = `${protocol === undefined ? '' : `${protocol} `}"${name}"`;
  return {
    severity: 'warning',
    code: 'port-name',
    object: id,
    field: `spec.${path}`,
    message: `names port ${port}, and none of the pods and workloads ${whose} has it`,
    effect: 'the port matches nothing until one does',
  };
}
