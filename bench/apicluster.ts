/** The cluster of bench/cluster.ts as an API server keeps it: whole objects, of the size that they have in life. */
import type { Namespace, Pod } from '../src/model/cluster.ts';
import type { Peer, Policy, PortMatch, Rule } from '../src/model/policy.ts';
import type { LabelSelector, NamespaceSelector } from '../src/model/selector.ts';
import { benchCluster, type Size } from './cluster.ts';
import type { KubeObject } from './fakeapiserver.ts';

/** Namespaced policies only. */
export function apiCluster(size: Size): KubeObject[] {
  return benchCluster(size).flatMap((event): KubeObject[] => {
    if (event.type === 'namespace') return [apiNamespace(event.value!)];
    if (event.type === 'pod') return [apiPod(event.value!)];
    return event.type === 'policy' ? [apiPolicy(event.value!)] : [];
  });
}

function apiNamespace({ name, labels }: Namespace): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels }, status: { phase: 'Active' } };
}

/** About 3 KB: what a kubelet and a Deployment leave in a pod of one container. */
function apiPod({ namespace, name, labels, node, addresses, createdAt, ports }: Pod): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: `00000000-0000-4000-8000-${name.padStart(12, '0')}`,
      labels,
      creationTimestamp: createdAt,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, controller: true }],
      managedFields: ['kube-controller-manager', 'kubelet'].map(manager => managedBy(manager, createdAt)),
    },
    spec: {
      nodeName: node,
      serviceAccountName: 'default',
      containers: [
        {
          name: 'main',
          image: `registry.example/team/${labels.app}:v1.2.3`,
          env: Array.from({ length: 10 }, (_, i) => ({ name: `SETTING_${i}`, value: `value of ${i}` })),
          ports: ports.map(({ name, protocol, port }) => ({ name, protocol, containerPort: port })),
        },
      ],
      tolerations: ['not-ready', 'unreachable'].map(toleration),
    },
    status: {
      phase: 'Running',
      podIP: addresses[0],
      podIPs: addresses.map(ip => ({ ip })),
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(type => ({
        type,
        status: 'True',
        lastTransitionTime: createdAt,
      })),
    },
  };
}

function managedBy(manager: string, time: string) {
  const fields = ['type', 'status', 'lastProbeTime', 'lastTransitionTime', 'message', 'reason'];
  const known = Object.fromEntries(fields.map(field => [`f:${field}`, {}]));
  return {
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': known }, 'f:spec': known, 'f:status': known },
  };
}

function toleration(what: string) {
  return {
    key: `node.kubernetes.io/${what}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  };
}

function apiPolicy({ name, subject, ingress, egress }: Policy): KubeObject {
  const [namespace, policy] = name.split('/') as [string, string];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: policy, namespace },
    spec: {
      podSelector: apiSelector(subject.pods),
      policyTypes: [...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])],
      ...(ingress && { ingress: ingress.map(rule => apiRule(rule, 'from')) }),
      ...(egress && { egress: egress.map(rule => apiRule(rule, 'to')) }),
    },
  };
}

function apiRule({ peers, ports }: Rule, side: 'from' | 'to') {
  return {
    ...(peers !== 'any' && { [side]: peers.flatMap(apiPeer) }),
    ...(ports !== 'any' && { ports: ports.flatMap(apiPort) }),
  };
}

function apiPeer(peer: Peer) {
  if (peer.kind !== 'pods') throw new TypeError(`no ${peer.kind} in this cluster`);
  const { namespaces, pods } = peer.selector;
  return [{ namespaceSelector: apiNamespaceSelector(namespaces), podSelector: apiSelector(pods) }];
}

function apiPort(port: PortMatch) {
  return port.kind === 'range' ? [{ protocol: port.protocol, port: port.first }] : [];
}

function apiNamespaceSelector(selector: NamespaceSelector) {
  if (selector.kind === 'labels') return apiSelector(selector.selector);
  return { matchLabels: { 'kubernetes.io/metadata.name': selector.name } };
}

function apiSelector({ requirements }: LabelSelector) {
  return { matchLabels: Object.fromEntries(requirements.map(({ key, values }) => [key, values[0]])) };
}
