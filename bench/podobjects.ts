/** A node and its pods of one namespace, as manifests say it. */
import type { Address } from '../src/model/address.ts';
import type { Labels } from '../src/model/labels.ts';

export interface BenchPod {
  readonly name: string;
  readonly ip: Address;
  readonly labels: Labels;
}

/** In the namespace `bench`. */
export function podObjects(node: string, pods: readonly BenchPod[]): object[] {
  return [
    { apiVersion: 'v1', kind: 'Node', metadata: { name: node } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench' } },
    ...pods.map(({ name, ip, labels }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'bench', labels },
      spec: { nodeName: node, containers: [{ name: 'main', image: 'i' }] },
      status: { phase: 'Running', podIPs: [{ ip }] },
    })),
  ];
}
