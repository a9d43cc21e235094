/** A small cluster whose policies tests edit: one builder line per actor. */
import { decodeObject } from '../src/inputs/kube/decode/decode.ts';
import type { ClusterEvent, Pod, PodKey } from '../src/model/cluster.ts';
import type { Problem } from '../src/model/problem.ts';
import { address } from './lab/topology.ts';

export function shopPod(key: PodKey, node: string, addresses: readonly string[], labels = {}): ClusterEvent {
  const [namespace, name] = key.split('/') as [string, string];
  const value: Pod = {
    key,
    namespace,
    name,
    labels: { app: name, ...labels },
    node,
    addresses: addresses.map(address),
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
  return { type: 'pod', key, value };
}

/** A NetworkPolicy of namespace shop. */
export function shopPolicy(name: string, spec: object): ClusterEvent {
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: 'shop' },
    spec,
  };
  const decoded = decodeObject(object) as { event?: ClusterEvent; problems?: readonly Problem[] };
  if (decoded.event === undefined) throw new Error(JSON.stringify(decoded.problems));
  return decoded.event;
}
