/** Pods that come to a generated cluster, in namespaces that it has and in others. */

import fc from 'fast-check';
import { addressFromInt } from '../../../src/model/address.ts';
import {
  type Cluster,
  NAMESPACE_NAME_LABEL,
  type Namespace,
  type Pod,
  type PodKey,
} from '../../../src/model/cluster.ts';
import type { Labels } from '../../../src/model/labels.ts';
import type { Policy } from '../../../src/model/policy.ts';

/** Ports of new pods by the names that rules mean, with numbers that none means. */
export const NAMED = { web: 30_001, dns: 30_002 };

const labelArbitrary = (...values: string[]) => fc.constantFrom(undefined, ...values, 'other');

export interface NewPod {
  readonly namespace: string;
  readonly team: string | undefined;
  readonly app: string | undefined;
  readonly tier: string | undefined;
}

export const newPodArbitrary: fc.Arbitrary<NewPod> = fc.record({
  namespace: fc.constantFrom('a', 'b', 'c', 'new'),
  team: labelArbitrary('red', 'blue'),
  app: labelArbitrary('web', 'db'),
  tier: labelArbitrary('x', 'y'),
});

/** Undefined for one that is not known, though policies and pods are in it. */
export function namespaceOfNew(
  { namespaces }: Cluster,
  { namespace: name, team }: NewPod,
): Namespace | undefined {
  if (name !== 'new') return namespaces.get(name);
  return { name, labels: { ...(team && { team }), [NAMESPACE_NAME_LABEL]: name } };
}

export function labelsOfNew({ app, tier }: NewPod): Labels {
  return { ...(app && { app }), ...(tier && { tier }) };
}

/** `n` tells several new pods apart. */
export function newPod(namespace: string, labels: Labels, n = 0): Pod {
  const name = `new-${n}`;
  const key: PodKey = `${namespace}/${name}`;
  const rest = { node: 'n3', hostNetwork: false, finished: false, createdAt: '' };
  const addresses = [
    addressFromInt('ip', 0xa090909n + BigInt(n)),
    addressFromInt('ip6', (0xfd09n << 112n) + BigInt(n)),
  ];
  const ports = Object.entries(NAMED).flatMap(([name, port]) =>
    (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ name, protocol, port })),
  );
  return { key, namespace, name, labels, addresses, ports, ...rest };
}

export function withPod(cluster: Cluster, pod: Pod, namespace: Namespace): Cluster {
  return {
    ...cluster,
    pods: new Map(cluster.pods).set(pod.key, pod),
    namespaces: new Map(cluster.namespaces).set(namespace.name, namespace),
  };
}

/** Which address a new pod will have decides which networks mean it, and whether tunnels lead there: so here none does. */
export function withoutNetworks(cluster: Cluster): Cluster {
  const policies = [...cluster.policies].map(([key, policy]) => [key, policyWithout(policy)] as const);
  const nodes = [...cluster.nodes].map(([name, { links: _, ...node }]) => [name, node] as const);
  return { ...cluster, policies: new Map(policies), nodes: new Map(nodes) };
}

function policyWithout(policy: Policy): Policy {
  const rules = (direction: 'ingress' | 'egress') =>
    policy[direction]?.map(rule => ({
      ...rule,
      peers: rule.peers === 'any' ? rule.peers : rule.peers.filter(({ kind }) => kind !== 'network'),
    }));
  const [ingress, egress] = [rules('ingress'), rules('egress')];
  return { ...policy, ...(ingress && { ingress }), ...(egress && { egress }) };
}
