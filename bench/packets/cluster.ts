/**
 * A cluster whose node has 100 pods in a given number of classes, with a given number of policies on each. Each
 * policy lets in ten of 10,000 peers; a pod's last policy lets in the clients, whom no other rule matches, so that
 * their packets find their way past everything else.
 */

import { type Address, addressFromInt } from '../../src/model/address.ts';
import { ClusterState, type NodeLinks, type Pod } from '../../src/model/cluster.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import type { Policy, PortMatch, Rule } from '../../src/model/policy.ts';
import type { PodSelector } from '../../src/model/selector.ts';
import { EVERY_NAMESPACE, EVERYTHING } from '../../src/model/selector.ts';
import { NODE } from '../cluster.ts';

export interface PolicyShape {
  readonly classes: number;
  /** Number of policies on each local pod, in both directions. */
  readonly policies: number;
  /** The number of ports over which the policies are spread; 8 by default. */
  readonly ports?: number;
  /** Rules of the Admin tier in each direction that alternate between accept and deny, and match no client. */
  readonly runs?: number;
  /** Whether the rules of the Admin tier name the clients' port, or are about all ports. */
  readonly runPorts?: 'any' | 'clients';
  /** The treatment of addresses of the node's pod network that no known pod has; `allow` by default. */
  readonly unknownPods?: UnknownPods;
}

const LOCAL_PODS = 100;
const PODS_PER_SELECTOR = 10;
const SELECTORS = 999; // Besides the clients'.
const PORTS = [80, 443, 8080, 8443, 5432, 6379, 9090, 53];

export const localAddresses = addresses(0x0a000001n, LOCAL_PODS);
export const clientAddresses = addresses(0x0a020001n, PODS_PER_SELECTOR);
const strangerAddresses = addresses(0x0a010001n, SELECTORS * PODS_PER_SELECTOR);

/** `links` are those of the node; clients come by its uplinks. */
export function packetCluster(shape: PolicyShape, links: Partial<NodeLinks> = {}): ClusterState {
  const state = new ClusterState();
  const node = {
    name: NODE,
    labels: {},
    addresses: [],
    podCidrs: ['10.0.0.0/24'],
    links: { uplinks: [], podBridges: [], ...links },
  };
  state.apply({ type: 'node', key: NODE, value: node });
  localAddresses.forEach((address, i) => {
    add(state, pod(`local-${i % shape.classes}`, `pod-${i}`, address, NODE, {}));
  });
  strangerAddresses.forEach((address, i) => {
    const group = `stranger-${i % SELECTORS}`;
    add(state, pod('remote', `stranger-${i}`, address, 'node-1', { group }));
  });
  clientAddresses.forEach((address, i) => {
    add(state, pod('remote', `client-${i}`, address, 'node-1', { group: CLIENT_GROUP }));
  });
  for (const policy of policiesOf(shape)) state.apply({ type: 'policy', key: policy.id, value: policy });
  return state;
}

/** The port of the policy that lets clients in. */
export function clientPort(shape: PolicyShape): number {
  return portOf(Math.max(0, shape.policies - 1), shape);
}

// After the others in the alphabet, so that its set is the last one to be asked.
const CLIENT_GROUP = 'the-clients';

function policiesOf(shape: PolicyShape): Policy[] {
  const policies: Policy[] = shape.runs === undefined ? [] : [adminPolicy(shape, shape.runs)];
  for (let c = 0; c < shape.classes; c++) {
    for (let i = 0; i < shape.policies; i++) policies.push(networkPolicy(c, i, shape));
  }
  return policies;
}

function networkPolicy(podClass: number, i: number, shape: PolicyShape): Policy {
  const namespace = `local-${podClass}`;
  const group = i === shape.policies - 1 ? CLIENT_GROUP : `stranger-${scattered(podClass, i)}`;
  const rule = (path: string) => ruleOf(path, 'accept', group, exactly(portOf(i, shape)));
  return {
    id: `NetworkPolicy ${namespace}/policy-${i}`,
    kind: 'NetworkPolicy',
    name: `${namespace}/policy-${i}`,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    ingress: [rule('ingress[0]')],
    egress: [rule('egress[0]')],
  };
}

function adminPolicy(shape: PolicyShape, runs: number): Policy {
  const ports = shape.runPorts === 'clients' ? exactly(clientPort(shape)) : 'any';
  const rules = (direction: string) =>
    Array.from({ length: runs }, (_, i) =>
      ruleOf(`${direction}[${i}]`, i % 2 === 0 ? 'accept' : 'deny', `stranger-${SELECTORS - 1 - i}`, ports),
    );
  return {
    id: 'ClusterNetworkPolicy runs',
    kind: 'ClusterNetworkPolicy',
    name: 'runs',
    tier: 'admin',
    order: 0,
    subject: { namespaces: EVERY_NAMESPACE, pods: EVERYTHING },
    ingress: rules('ingress'),
    egress: rules('egress'),
  };
}

function ruleOf(path: string, action: 'accept' | 'deny', group: string, ports: Rule['ports']): Rule {
  return { path, action, peers: [{ kind: 'pods', selector: inGroup(group) }], ports };
}

function inGroup(group: string): PodSelector {
  const pods = { requirements: [{ key: 'group', operator: 'In', values: [group] } as const] };
  return { namespaces: { kind: 'name', name: 'remote' }, pods };
}

/** Any selector, so that classes have few sets in common. */
function scattered(podClass: number, i: number): number {
  return ((Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(podClass + 1, 0x85ebca6b)) >>> 0) % SELECTORS;
}

function portOf(i: number, { ports = PORTS.length }: PolicyShape): number {
  return PORTS[i % ports]!;
}

function exactly(port: number): PortMatch[] {
  return [{ kind: 'range', protocol: 'UDP', first: port, last: port }];
}

function pod(
  namespace: string,
  name: string,
  address: Address,
  node: string,
  labels: Record<string, string>,
): Pod {
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    labels,
    node,
    addresses: [address],
    hostNetwork: false,
    finished: false,
    createdAt: '2026-01-01T00:00:00Z',
    ports: [],
  };
}

function add(state: ClusterState, value: Pod): void {
  state.apply({ type: 'pod', key: value.key, value });
}

function addresses(first: bigint, count: number): Address[] {
  return Array.from({ length: count }, (_, i) => addressFromInt('ip', first + BigInt(i)));
}
