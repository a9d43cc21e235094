/** A big cluster at a real API server: objects as large as they are in life, made by many requests at once. */
import type { Api, Manifest } from '../storms/api.ts';
import { NODE } from '../storms/firm.ts';
import { namespace, networkPolicy, node, pod } from '../storms/objects.ts';

export interface Population {
  readonly pods: number;
  readonly policies: number;
  readonly namespaces: number;
}

const PODS_PER_NODE = 100;
const AT_ONCE = 32;
const APPS = 10;
const TEAMS = 10;

export async function populate(api: Api, { pods, policies, namespaces }: Population): Promise<void> {
  const nodes = Array.from({ length: Math.ceil(pods / PODS_PER_NODE) }, (_, n) => n);
  await each(nodes, n => api.apply(node(nodeName(n), `172.18.${1 + (n >> 8)}.${n & 255}`)));
  await each(range(namespaces), n => api.apply(namespace(`ns-${n}`, { team: `team-${n % TEAMS}` })));
  await each(range(policies), i => api.create(policy(`ns-${i % namespaces}/policy-${i}`, i)));
  await each(range(pods), i => createPod(api, i, namespaces));
}

/** Lets pods of an app of one team in, on one port, to all pods of its namespace. */
export function policy(key: string, i: number): Manifest {
  const namespaceSelector = { matchLabels: { team: `team-${i % TEAMS}` } };
  const podSelector = { matchLabels: { app: `app-${Math.floor(i / TEAMS) % APPS}` } };
  const ports = [{ protocol: 'TCP', port: 8000 + (i % 100) }];
  const rules = [{ from: [{ namespaceSelector, podSelector }], ports }];
  return networkPolicy(key, { podSelector: {}, policyTypes: ['Ingress'], ingress: rules });
}

function nodeName(n: number): string {
  return n === 0 ? NODE : `node-${n}`;
}

/** Consecutive pods are in different namespaces. A pod has no status before its second request. */
async function createPod(api: Api, i: number, namespaces: number): Promise<void> {
  const ips = [`10.${128 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`, `fd00:1::${(i + 1).toString(16)}`];
  const labels = { app: `app-${i % APPS}`, 'app.kubernetes.io/instance': `release-${i}` };
  const { status, spec, metadata, ...type } = pod(`ns-${i % namespaces}/pod-${i}`, {
    node: nodeName(Math.floor(i / PODS_PER_NODE)),
    ips,
    labels,
  });
  const full = {
    ...type,
    metadata: { ...metadata, annotations },
    spec: { ...(spec as object), ...SPEC },
  } as Manifest;
  await api.create(full);
  await api.merge(full, { status: { ...(status as object), ...STATUS } }, '/status');
}

const annotations = {
  'example.com/config-hash': 'd2f1a7c0'.repeat(8),
  'example.com/owner': 'platform@example.com',
};

const container = (name: string) => ({
  name,
  image: `registry.example.com/platform/${name}:v1.27.3`,
  ports: [{ name: name === 'main' ? 'web' : 'admin', containerPort: name === 'main' ? 8080 : 9090 }],
  env: range(12).map(i => ({ name: `SETTING_${i}`, value: `the value of setting ${i} of ${name}` })),
  resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
  readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 10 },
  volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
});

const SPEC = {
  containers: ['main', 'sidecar'].map(container),
  volumes: [{ name: 'config', configMap: { name: 'config' } }],
  tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }],
};

const STATUS = {
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(type => ({
    type,
    status: 'True',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  })),
  containerStatuses: ['main', 'sidecar'].map(name => ({
    name,
    ready: true,
    restartCount: 0,
    image: `registry.example.com/platform/${name}:v1.27.3`,
    imageID: `registry.example.com/platform/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
    containerID: `containerd://${'fedcba9876543210'.repeat(4)}`,
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
  })),
};

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

async function each<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < values.length) await work(values[next++]!);
  };
  await Promise.all(range(AT_ONCE).map(worker));
}
