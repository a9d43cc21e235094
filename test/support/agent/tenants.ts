/** Pods and NetworkPolicies of tenants, each in one line. */
import { type Address, type Cidr, parseAddress, parseCidr } from '../../../src/model/address.ts';
import type { ClusterEvent, Pod } from '../../../src/model/cluster.ts';
import type { Policy, Rule } from '../../../src/model/policy.ts';
import type { PolicyChange } from '../../../src/model/policychange.ts';
import type { PodSelector, Requirement } from '../../../src/model/selector.ts';

/** The `n`th of its namespace, of 65,536; namespaces of different lengths have addresses of their own. */
export function tenantPod(namespace: string, n: number, rest: Partial<Pod> = {}): Pod {
  return {
    key: `${namespace}/p${n}`,
    namespace,
    name: `p${n}`,
    labels: {},
    node: 'n1',
    addresses: [addressOf(namespace, n)],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
    ...rest,
  };
}

function addressOf(namespace: string, n: number): Address {
  return parseAddress(`10.${namespace.length}.${n >> 8}.${n & 255}`)!;
}

/** A policy that selects the pods of its namespace, or those that meet `requirements`. */
export function ingressPolicy(
  name: `${string}/${string}`,
  ingress: readonly Rule[],
  requirements: readonly Requirement[] = [],
): Policy {
  const [namespace = ''] = name.split('/');
  return {
    id: `NetworkPolicy ${name}`,
    kind: 'NetworkPolicy',
    name,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: { requirements } },
    ingress,
  };
}

export const allowPort = (port: number) => allow(0, 'any', port);

/** The nth rule of a policy, of a network of its own. */
export const allowNetwork = (n: number, port: number, cidr = network(n)) =>
  allow(n, [{ kind: 'network', cidr, except: [] }], port);

/** The nth rule of a policy, of these pods and at a port of its own. */
export function allowPods(n: number, selectors: readonly PodSelector[]): Rule {
  return allow(
    n,
    selectors.map(selector => ({ kind: 'pods', selector })),
    1000 + n,
  );
}

function allow(n: number, peers: Rule['peers'], port: number): Rule {
  const ports = [{ kind: 'range', protocol: 'TCP', first: port, last: port }] as const;
  return { path: `ingress[${n}]`, action: 'accept', peers, ports };
}

/** No two of them touch. */
export function network(n: number): Cidr {
  return parseCidr(`172.${16 + (n >> 14)}.${(n >> 6) & 255}.${(4 * n) & 255}/32`)!;
}

export function isIn(key: string, ...values: string[]): Requirement[] {
  return [{ key, operator: 'In', values }];
}

/** So many rules, each for the pods of one namespace that meet its requirements. */
export function rulesOfPods(
  namespace: string,
  count: number,
  required: (n: number) => readonly Requirement[],
): Rule[] {
  return Array.from({ length: count }, (_, n) => {
    const pods = { requirements: required(n) };
    return allowPods(n, [{ namespaces: { kind: 'name', name: namespace }, pods }]);
  });
}

export function podEvent(value: Pod): ClusterEvent {
  return { type: 'pod', key: value.key, value };
}

export function policyEvent(value: Policy): ClusterEvent & { readonly value: Policy } {
  return { type: 'policy', key: value.id, value };
}

export function changeOf(value: Policy): PolicyChange {
  return { id: value.id, value };
}

/** Rules of one selector each, all of which mention one label of the tenant's pods. */
export function selecting(name: `${string}/${string}`, count: number, other = 'x') {
  const rules = rulesOfPods(name.split('/')[0]!, count, n => [
    { key: 'app', operator: 'NotIn', values: ['red', `${other}${n}`] },
  ]);
  return policyEvent(ingressPolicy(name, rules));
}

/** Pods of another node that all have one label. */
export function crowd(namespace: string, count: number, app: string): ClusterEvent[] {
  return Array.from({ length: count }, (_, n) =>
    podEvent(tenantPod(namespace, 1000 + n, { labels: { app }, node: 'n2' })),
  );
}
