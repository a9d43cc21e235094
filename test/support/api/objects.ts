/** Objects as the API server keeps them: one line each. */
import type { KubeObject } from './server.ts';

type LabelMap = Readonly<Record<string, string>>;

export function apiPod(name: string, ip: string, labels: LabelMap = {}, phase = 'Running'): KubeObject {
  const [namespace, pod] = split(name);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: pod, labels },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'i' }] },
    status: { phase, podIPs: [{ ip }] },
  };
}

export function apiNamespace(name: string, labels: LabelMap = {}, isTerminating = false): KubeObject {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels, ...(isTerminating && { deletionTimestamp }) },
  };
}

export function apiNode(name: string, ip: string): KubeObject {
  const addresses = [{ type: 'InternalIP', address: ip }];
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { addresses } };
}

/** Isolates the pods of that label, or with `spec` what that says. */
export function apiNetworkPolicy(name: string, app: string, spec: object = {}): KubeObject {
  const [namespace, policy] = split(name);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace, name: policy },
    spec: { podSelector: { matchLabels: { app } }, policyTypes: ['Ingress'], ...spec },
  };
}

export function apiClusterPolicy(name: string, priority: number, tier = 'Admin'): KubeObject {
  const ingress = [{ action: 'Deny', from: [{ namespaces: {} }] }];
  return {
    apiVersion: 'policy.networking.k8s.io/v1beta1',
    kind: 'ClusterNetworkPolicy',
    metadata: { name },
    spec: { tier, priority, subject: { namespaces: {} }, ingress },
  };
}

/** The CustomResourceDefinition of ClusterNetworkPolicy, served in those versions. */
export function apiDefinition(versions: readonly string[], isEstablished = true): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'clusternetworkpolicies.policy.networking.k8s.io' },
    spec: { versions: versions.map(name => ({ name, served: true, storage: name === versions[0] })) },
    status: { conditions: [{ type: 'Established', status: isEstablished ? 'True' : 'False' }] },
  };
}

function split(name: string): [string, string] {
  const [namespace = '', rest = ''] = name.split('/');
  return [namespace, rest];
}
