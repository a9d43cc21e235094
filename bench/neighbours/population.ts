/** The cluster of the benchmark: a hostile tenant's pods and a neighbour's on one node, and thousands elsewhere. */
import { type Address, parseAddress } from '../../src/model/address.ts';
import type { KubeObject } from '../fakeapiserver.ts';

export const NEIGHBOURS_NODE = 'n1';
export const NEIGHBOUR = 'neighbour';
export const TENANT = 'tenant';
/** Labels of the tenant's pods on the node that is attacked. */
export const HOSTILE = { app: 'hostile' };

/** Pods of the tenant on other nodes. */
export const ELSEWHERE = 3000;
const HOSTILE_PODS = 20;
/** The default limit of kubelets. */
const PODS_OF_A_NODE = 110;

/** The neighbour's server on this node, and its client elsewhere. */
export const SERVER = parseAddress('10.1.2.1')!;
export const CLIENT = parseAddress('10.2.200.1')!;
/** The tenant's on this node. */
export const HOSTILE_ADDRESSES = Array.from(
  { length: HOSTILE_PODS },
  (_, i) => parseAddress(`10.1.1.${i + 1}`)!,
);
export const HOSTILE_ADDRESS = HOSTILE_ADDRESSES[0]!;

export function population(): KubeObject[] {
  return [
    node(NEIGHBOURS_NODE),
    node('n2'),
    namespace(NEIGHBOUR),
    namespace(TENANT),
    pod(NEIGHBOUR, 'db', NEIGHBOURS_NODE, SERVER, { app: 'db' }),
    pod(NEIGHBOUR, 'web', 'n2', CLIENT, { app: 'web' }),
    ...HOSTILE_ADDRESSES.map((ip, i) => pod(TENANT, `hostile-${i}`, NEIGHBOURS_NODE, ip, HOSTILE)),
    ...Array.from({ length: ELSEWHERE }, (_, i) => farPod(i)),
  ];
}

/** As many more of the tenant's on this node as it has room for, each of which has another label, with something for each. */
export function crowdHere(beside: (labels: { readonly app: string }) => KubeObject): KubeObject[] {
  return Array.from({ length: PODS_OF_A_NODE - HOSTILE_PODS }, (_, i) => {
    const labels = { app: `crowd-${i}` };
    const address = parseAddress(`10.1.3.${i + 1}`)!;
    return [pod(TENANT, labels.app, NEIGHBOURS_NODE, address, labels), beside(labels)];
  }).flat();
}

/** The tenant's i-th elsewhere. */
export function farPod(i: number, labels: object = { app: `peer-${i % 500}`, tier: 'any' }): KubeObject {
  return pod(TENANT, `far-${i}`, 'n2', parseAddress(`10.3.${i >> 7}.${1 + (i & 127)}`)!, labels);
}

/** The neighbour's default deny. */
export const DEFAULT_DENY: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'deny', namespace: NEIGHBOUR },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
};

function node(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {}, status: { addresses: [] } };
}

function namespace(name: string): KubeObject {
  const labels = { 'kubernetes.io/metadata.name': name };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

export function pod(ns: string, name: string, nodeName: string, ip: Address, labels: object): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: ns,
      uid: `${ns}-${name}`,
      labels,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { nodeName, containers: [{ name: 'main', image: 'x' }] },
    status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] },
  };
}
