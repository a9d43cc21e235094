/** A folder of manifests of a given size, as `kubectl get -o json` writes them: the same at every run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { times } from './times.ts';

export interface FolderSize {
  readonly workloads: number;
  readonly replicas: number;
  readonly policies: number;
  /** How many of the policies speak of another port. */
  readonly changed?: number;
}

const NAMESPACES = 50;
const TEAMS = 10;
const PORTS = [80, 443, 8080, 8443, 5432, 6379, 9090, 53];

export function writeFolder(folder: string, size: FolderSize): void {
  mkdirSync(folder);
  for (const [name, items] of Object.entries(folderObjects(size))) write(folder, name, items);
}

/** By the name of their file. */
export function folderObjects({ workloads, replicas, policies, changed = 0 }: FolderSize) {
  return {
    namespaces: times(NAMESPACES, namespace),
    pods: times(workloads * replicas, i => pod(i, i % workloads)),
    policies: times(policies, i => policy(i, workloads, i < changed)),
  };
}

function write(folder: string, name: string, items: readonly object[]): void {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

function namespace(i: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: `ns-${i}`,
      labels: { 'kubernetes.io/metadata.name': `ns-${i}`, team: `team-${i % TEAMS}` },
    },
  };
}

function pod(i: number, workload: number): object {
  const ips = [`10.${128 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`, `fd00::${(i + 1).toString(16)}`];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `app-${workload}-${i}`,
      namespace: `ns-${workload % NAMESPACES}`,
      labels: { app: `app-${workload}`, tier: workload % 3 === 0 ? 'front' : 'back' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: `app-${workload}`, uid: '', controller: true },
      ],
    },
    spec: {
      nodeName: `node-${i % 100}`,
      containers: [{ name: 'app', image: 'app', ports: [{ name: 'web', containerPort: 8080 }] }],
    },
    status: { phase: 'Running', podIP: ips[0], podIPs: ips.map(ip => ({ ip })) },
  };
}

/**
 * Each about one workload: its peers are another one, a team's front ends, or a network with a hole; every other one
 * has egress.
 */
function policy(i: number, workloads: number, isChanged: boolean): object {
  const workload = i % workloads;
  const port = PORTS[i % PORTS.length]! + (isChanged ? 1 : 0);
  const rule = (peers: 'from' | 'to') => ({
    [peers]: [peer(i, workloads)],
    ports: [{ protocol: 'TCP', port }],
  });
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `policy-${i}`, namespace: `ns-${workload % NAMESPACES}` },
    spec: {
      podSelector: { matchLabels: { app: `app-${workload}` } },
      policyTypes: i % 2 === 0 ? ['Ingress', 'Egress'] : ['Ingress'],
      ingress: [rule('from')],
      ...(i % 2 === 0 && { egress: [rule('to')] }),
    },
  };
}

function peer(i: number, workloads: number): object {
  if (i % 10 === 9) return { ipBlock: { cidr: `10.${i % 200}.0.0/16`, except: [`10.${i % 200}.7.0/24`] } };
  if (i % 3 === 0)
    return {
      namespaceSelector: { matchLabels: { team: `team-${i % TEAMS}` } },
      podSelector: { matchLabels: { tier: 'front' } },
    };
  const other = (i * 7 + 1) % workloads;
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': `ns-${other % NAMESPACES}` } },
    podSelector: { matchLabels: { app: `app-${other}` } },
  };
}
