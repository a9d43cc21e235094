/** The events that make a cluster as it is now, for a new engine. */
import type { Cluster, ClusterEvent } from './cluster.ts';

export function clusterEvents({
  namespaces,
  nodes,
  pods,
  policies,
  audited = new Map(),
  hostPorts = new Map(),
}: Cluster): ClusterEvent[] {
  return [
    ...Array.from(namespaces, ([key, value]) => ({ type: 'namespace', key, value }) as const),
    ...Array.from(nodes, ([key, value]) => ({ type: 'node', key, value }) as const),
    ...Array.from(pods, ([key, value]) => ({ type: 'pod', key, value }) as const),
    ...Array.from([...policies, ...audited], ([key, value]) => ({ type: 'policy', key, value }) as const),
    ...Array.from(hostPorts, ([key, value]) => ({ type: 'hostPort', key, value }) as const),
  ];
}
