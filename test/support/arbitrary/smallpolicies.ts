/** Many small policies on the pods of one node, in many classes: as much as is compiled in bundles that classes share. */
import fc from 'fast-check';
import { networkPolicy } from '../../../bench/largepolicies.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import type { ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { clusterWith, NODE } from './largepolicies.ts';

const LOCAL = 5;
const SUBJECTS: readonly object[] = [{}, {}, { app: 'a0' }, { app: 'a1' }, { even: 'yes' }];

/** Twelve pods. Some are on this node, and labels distinguish them. */
export function population(): ClusterState {
  const cluster = clusterWith([]);
  for (let i = 0; i < LOCAL; i++) {
    const pod = cluster.pods.get(`shop/p${i}`)!;
    const labels = { ...pod.labels, ...(i % 2 === 0 && { even: 'yes' }) };
    cluster.apply({ type: 'pod', key: pod.key, value: { ...pod, node: NODE, labels } });
  }
  return cluster;
}

export interface SmallPolicy {
  readonly name: number;
  readonly subject: number;
  readonly rules: number;
  readonly kind: number;
}

/** A policy of some 200 entries, whatever its rules: always merged, or in a bundle. */
export function smallPolicyEvent({ name, subject, rules, kind }: SmallPolicy): ClusterEvent {
  const nobody = Array.from({ length: 190 - 4 * rules }, (_, i) => `nobody-${i}`);
  const app = (i: number) => ({
    key: 'app',
    operator: 'In',
    values: [`a${(name + i) % 12}`, ...(i === 0 ? nobody : [])],
  });
  const ends = (i: number): object =>
    [
      { podSelector: { matchExpressions: [app(i)] } },
      { ipBlock: { cidr: `192.0.2.${(name + i) % 250}/32` } },
      { ipBlock: { cidr: `fd00:2::${1 + (i % 12)}/128` } },
    ][i === 0 ? 0 : (kind + i) % 3]!;
  const ports = (i: number) => [
    { port: [80, 'web', 8080, `n${i % 12}`, 1000 + ((name * 7 + i) % 40)][(i + kind) % 5] },
  ];
  const rule = (side: 'from' | 'to') => (_: unknown, i: number) => ({ [side]: [ends(i)], ports: ports(i) });
  const spec = {
    podSelector: { matchLabels: SUBJECTS[subject] },
    policyTypes: ['Ingress', 'Egress'],
    ingress: Array.from({ length: rules }, rule('from')),
    egress: Array.from({ length: kind % 2 === 0 ? rules : 1 }, rule('to')),
  };
  return decodeObject(networkPolicy('shop', `x${name}`, spec)).event!;
}

export const smallPolicy: fc.Arbitrary<SmallPolicy> = fc.record({
  name: fc.integer({ min: 0, max: 90 }),
  subject: fc.nat({ max: SUBJECTS.length - 1 }),
  rules: fc.integer({ min: 1, max: 16 }),
  kind: fc.nat({ max: 9 }),
});

export const smallPolicyChange: fc.Arbitrary<ClusterEvent> = fc.oneof(
  { weight: 6, arbitrary: smallPolicy.map(smallPolicyEvent) },
  {
    weight: 2,
    arbitrary: fc
      .nat({ max: 90 })
      .map((name): ClusterEvent => ({ type: 'policy', key: `NetworkPolicy shop/x${name}` })),
  },
  { weight: 2, arbitrary: fc.tuple(fc.nat({ max: LOCAL - 1 }), fc.nat({ max: 11 })).map(relabelled) },
);

function relabelled([i, app]: [number, number]): ClusterEvent {
  const pod = population().pods.get(`shop/p${i}`)!;
  return { type: 'pod', key: pod.key, value: { ...pod, labels: { app: `a${app}` } } };
}

/** Flows between pods of this node and others. */
export function flowsOfPopulation(): Flow[] {
  const cluster = population();
  const address = (i: number, family: number) => cluster.pods.get(`shop/p${i}`)!.addresses[family]!;
  return [0, 1].flatMap(family =>
    Array.from({ length: LOCAL }, (_, i) => i).flatMap(i =>
      [0, 3, 7, 11].flatMap(other =>
        [80, 99, 8080, 1007, 1020].flatMap((port): Flow[] => {
          const [own, peer] = [address(i, family), address(other, family)];
          const both = [
            { from: own, to: peer },
            { from: peer, to: own },
          ];
          return other === i ? [] : both.map(ends => ({ ...ends, protocol: 'TCP', port }));
        }),
      ),
    ),
  );
}
