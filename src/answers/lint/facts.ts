/** What warnings are found from, and how they are written. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { MultiMap } from '../../lib/collections/multimap.ts';
import type { Address, Cidr } from '../../model/address.ts';
import type { Cluster, Node } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import {
  comparePolicies,
  type Direction,
  namespaceOfPolicy,
  type Policy,
  type Rule,
} from '../../model/policy.ts';
import type { Problem, WarningCode } from '../../model/problem.ts';
import { type LabelSelector, type PodSelector, selectorText } from '../../model/selector.ts';
import type { Service } from '../../model/service.ts';
import { tunnelNodes } from '../../model/tunneladdresses.ts';
import { type Candidate, Candidates } from './candidates.ts';

export interface Facts {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
  /** In order of precedence within each tier. */
  readonly policies: readonly Policy[];
  /** Those of the Admin tier among them. */
  readonly admin: readonly Policy[];
  readonly candidates: Candidates;
  /** The namespaces of policies that select by the same labels as this one, or have its name: copies of it. */
  readonly copiesOf: (policy: Policy) => ReadonlySet<string>;
  /** The Services that select a pod or workload. */
  readonly services: MultiMap<Candidate, Service>;
  readonly serviceNetworks: readonly Cidr[];
  /** The addresses of load balancers and external addresses of Services, without those of nodes. */
  readonly externalAddresses: ReadonlySet<Address>;
  /** The nodes by the addresses from which they send into tunnels (N75). */
  readonly tunnels: ReadonlyMap<Address, Node>;
}

/** A warning about one policy. */
export type PolicyWarning = (policy: Policy, facts: Facts) => readonly Problem[];

export function factsOf(cluster: Cluster, inventory: Inventory, serviceNetworks: readonly Cidr[]): Facts {
  const nodes = [...cluster.nodes.values()];
  const ofNodes = new Set(nodes.flatMap(({ addresses }) => addresses));
  const external = [...inventory.services.values()].flatMap(({ externalIps, wantedIps = [] }) => [
    ...externalIps,
    ...wantedIps,
  ]);
  const candidates = new Candidates(cluster, inventory);
  const policies = [...cluster.policies.values()].toSorted(comparePolicies);
  return {
    cluster,
    inventory,
    policies,
    admin: policies.filter(({ tier }) => tier === 'admin'),
    candidates,
    copiesOf: copiesFinder(policies),
    services: servicesByPod(candidates, inventory),
    serviceNetworks,
    externalAddresses: new Set(external.filter(address => !ofNodes.has(address))),
    tunnels: tunnelNodes(nodes),
  };
}

/** Looked up, because there may be thousands of policies, and one asks for each. */
function copiesFinder(policies: readonly Policy[]): Facts['copiesOf'] {
  const [byLabels, byName] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const labelsOf = ({ subject }: Policy) => selectorText(subject.pods);
  const ownName = ({ name }: Policy) => name.slice(name.indexOf('/'));
  for (const policy of policies) {
    const namespace = namespaceOfPolicy(policy.id);
    getOrMake(byLabels, labelsOf(policy), () => new Set()).add(namespace);
    getOrMake(byName, ownName(policy), () => new Set()).add(namespace);
  }
  return policy =>
    new Set([...(byLabels.get(labelsOf(policy)) ?? []), ...(byName.get(ownName(policy)) ?? [])]);
}

function servicesByPod(candidates: Candidates, { services }: Inventory): MultiMap<Candidate, Service> {
  const found = new MultiMap<Candidate, Service>();
  for (const service of services.values())
    for (const pod of podsOf(service, candidates)) found.add(pod, service);
  return found;
}

/** The pods and workloads that a Service selects. */
export function podsOf({ namespace, selector }: Service, candidates: Candidates): readonly Candidate[] {
  return selector === undefined ? [] : candidates.selected(withLabels(namespace, selector));
}

export function warning(
  code: WarningCode,
  object: string,
  field: string,
  message: string,
  effect: string,
): Problem {
  return { severity: 'warning', code, object, field, message, effect };
}

/** Few rules of one policy are warned of, so that repetitions of one author cost others little. */
export const MOST_OF_POLICY = 5;

/** The rules of a policy and their direction. */
export function* directedRules(policy: Policy): Generator<readonly [Direction, Rule]> {
  for (const direction of ['ingress', 'egress'] as const)
    for (const rule of policy[direction] ?? []) yield [direction, rule];
}

/** `spec.ingress[0].from`. */
export function peersField(direction: Direction, { path }: Rule): string {
  return `spec.${path}.${direction === 'ingress' ? 'from' : 'to'}`;
}

export function subjectField({ kind }: Policy): string {
  return kind === 'NetworkPolicy' ? 'spec.podSelector' : 'spec.subject';
}

export function podSelectorsOf({ peers }: Pick<Rule, 'peers'>): PodSelector[] {
  return peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
}

export function networksOf({ peers }: Rule): readonly Cidr[] {
  return peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'network' ? [peer.cidr] : []));
}

/** A Service's selector as a policy would write it. */
export function withLabels(namespace: string, labels: Readonly<Record<string, string>>): PodSelector {
  const requirements = Object.entries(labels).map(([key, value]): LabelSelector['requirements'][number] => ({
    key,
    operator: 'In',
    values: [value],
  }));
  return { namespaces: { kind: 'name', name: namespace }, pods: { requirements } };
}
