/**
 * A cluster of a given size, the same at every run: both families, a hundred pods on the node, each in a class of
 * its own and under ten of a thousand policies; peers of ten pods, of a hundred, of a thousand, and of all.
 */
import { addressFromInt } from '../src/model/address.ts';
import { type ClusterEvent, NAMESPACE_NAME_LABEL, type Namespace, type Pod } from '../src/model/cluster.ts';
import type { Action, Policy, Rule } from '../src/model/policy.ts';
import {
  EVERY_NAMESPACE,
  EVERYTHING,
  type LabelSelector,
  type NamespaceSelector,
  type PodSelector,
} from '../src/model/selector.ts';
import { times } from './times.ts';

export interface Size {
  readonly pods: number;
  readonly policies: number;
  /** Namespaced ones, or those of the Admin tier. */
  readonly tier?: 'networkpolicy' | 'admin';
  /** How many of the pods are in the one namespace `big`; the others are spread over a hundred. */
  readonly big?: number;
}

export const NODE = 'node-0';
export const BIG = 'big';
const PODS_PER_NODE = 100;
const NAMESPACES = 100;
const TEAMS = 10;
const APPS = 10;
const PORTS = [80, 443, 8080, 8443, 5432, 6379, 9090, 53];

/** The events that describe the cluster, in the order in which a source would send them. */
export function benchCluster({ pods, policies, tier = 'networkpolicy', big = 0 }: Size): ClusterEvent[] {
  const make = tier === 'admin' ? clusterPolicy : networkPolicy;
  return [
    ...(big > 0 ? [namespaceEvent(BIG, { name: BIG })] : []),
    ...times(NAMESPACES, n => namespaceEvent(`ns-${n}`, { team: `team-${n % TEAMS}` })),
    ...times(pods, i => podEvent(benchPod(i, i < pods - big ? `ns-${i % NAMESPACES}` : BIG))),
    ...times(policies, i => policyEvent(make(i))),
  ];
}

export function namespaceEvent(name: string, labels: Namespace['labels']): ClusterEvent {
  return {
    type: 'namespace',
    key: name,
    value: { name, labels: { [NAMESPACE_NAME_LABEL]: name, ...labels } },
  };
}

export function podEvent(pod: Pod): ClusterEvent {
  return { type: 'pod', key: pod.key, value: pod };
}

export function policyEvent(policy: Policy): ClusterEvent {
  return { type: 'policy', key: policy.id, value: policy };
}

/** Consecutive pods are in different namespaces, so that the node's pods, the first hundred, are in a hundred. */
function benchPod(i: number, namespace: string): Pod {
  const name = `pod-${i}`;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    labels: { app: `app-${Math.floor(i / NAMESPACES) % APPS}`, pod: name },
    node: `node-${Math.floor(i / PODS_PER_NODE)}`,
    addresses: benchAddresses(i),
    hostNetwork: false,
    finished: false,
    createdAt: '2026-01-01T00:00:00Z',
    ports: [{ name: 'web', protocol: 'TCP', port: 8080 }],
  };
}

export function benchAddresses(i: number): Pod['addresses'] {
  return [
    addressFromInt('ip', (10n << 24n) + BigInt(i + 1)),
    addressFromInt('ip6', (0xfdn << 120n) + BigInt(i + 1)),
  ];
}

/** Selects all pods of its namespace and lets in one kind of peers on one port; every other one sends out too. */
function networkPolicy(i: number): Policy {
  const namespace = `ns-${i % NAMESPACES}`;
  const rule = (path: string) => ruleOf(path, 'accept', peersOf(i), i);
  return {
    id: `NetworkPolicy ${namespace}/policy-${i}`,
    kind: 'NetworkPolicy',
    name: `${namespace}/policy-${i}`,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    ingress: [rule('ingress[0]')],
    ...(i % 2 === 0 && { egress: [rule('egress[0]')] }),
  };
}

/** Among ten policies five are about one namespace, four about a team and one about all; three actions take turns. */
function clusterPolicy(i: number): Policy {
  const action = ACTIONS[Math.floor(i / 10) % ACTIONS.length]!;
  const rule = (path: string) => ruleOf(path, action, peersOf(i), i);
  return {
    id: `ClusterNetworkPolicy policy-${i}`,
    kind: 'ClusterNetworkPolicy',
    name: `policy-${i}`,
    tier: 'admin',
    order: i,
    subject: { namespaces: subjectNamespaces(i), pods: EVERYTHING },
    ingress: [rule('ingress[0]')],
    ...(i % 2 === 0 && { egress: [rule('egress[0]')] }),
  };
}

const ACTIONS: readonly Action[] = ['accept', 'deny', 'pass'];

function subjectNamespaces(i: number): NamespaceSelector {
  if (i % 10 === 9) return EVERY_NAMESPACE;
  if (i % 2 === 0) return labelled(NAMESPACE_NAME_LABEL, `ns-${(i * 3) % NAMESPACES}`);
  return labelled('team', `team-${i % TEAMS}`);
}

/** Of a hundred peers, 50 are one app in a namespace, 39 an app of a team, 10 a team, and one all pods. */
function peersOf(i: number): PodSelector {
  const [team, app] = [labelled('team', `team-${(i >> 1) % TEAMS}`), withLabel('app', `app-${i % APPS}`)];
  if (i % 100 === 99) return { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };
  if (i % 10 === 7)
    return { namespaces: labelled('team', `team-${Math.floor(i / 10) % TEAMS}`), pods: EVERYTHING };
  if (i % 2 === 1) return { namespaces: team, pods: app };
  const other = withLabel('app', `app-${Math.floor(i / NAMESPACES) % APPS}`);
  return { namespaces: { kind: 'name', name: `ns-${(i * 7 + 1) % NAMESPACES}` }, pods: other };
}

function ruleOf(path: string, action: Action, selector: PodSelector, i: number): Rule {
  const port = PORTS[i % PORTS.length]!;
  return {
    path,
    action,
    peers: [{ kind: 'pods', selector }],
    ports: [{ kind: 'range', protocol: 'TCP', first: port, last: port }],
  };
}

function labelled(key: string, value: string): NamespaceSelector {
  return { kind: 'labels', selector: withLabel(key, value) };
}

export function withLabel(key: string, value: string): LabelSelector {
  return { requirements: [{ key, operator: 'In', values: [value] }] };
}
