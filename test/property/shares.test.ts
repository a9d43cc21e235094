/** Many small policies on the pods of one node, in many classes: as much as is compiled in bundles that classes share. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { networkPolicy } from '../../src/bench/largepolicies.ts';
import { compile } from '../../src/compiler/compile.ts';
import { decodeObject } from '../../src/kube/decode/decode.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { checkHistory, type Enforced } from '../support/agent/replay.ts';
import type { Step } from '../support/arbitrary/events.ts';
import { eventsOf } from '../support/arbitrary/events.ts';
import { clusterWith, NODE } from '../support/arbitrary/largepolicies.ts';
import { wrongStation } from '../support/oracle/equivalence.ts';

const HOW: Enforced = { unknownPods: 'allow', podLinks: 'others', hearing: undefined };
const LOCAL = 5;
const SUBJECTS: readonly object[] = [{}, {}, { app: 'a0' }, { app: 'a1' }, { even: 'yes' }];

/** Some of the twelve are on this node, and have labels by which policies tell them apart. */
function population(): ClusterState {
  const cluster = clusterWith([]);
  for (let i = 0; i < LOCAL; i++) {
    const pod = cluster.pods.get(`shop/p${i}`)!;
    const labels = { ...pod.labels, ...(i % 2 === 0 && { even: 'yes' }) };
    cluster.apply({ type: 'pod', key: pod.key, value: { ...pod, node: NODE, labels } });
  }
  return cluster;
}

interface Drawn {
  readonly name: number;
  readonly subject: number;
  readonly rules: number;
  readonly kind: number;
}

/** Some 200 entries, whatever it says: always merged, or in a bundle. */
function policyEvent({ name, subject, rules, kind }: Drawn): ClusterEvent {
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

const drawn = fc.record({
  name: fc.integer({ min: 0, max: 90 }),
  subject: fc.nat({ max: SUBJECTS.length - 1 }),
  rules: fc.integer({ min: 1, max: 16 }),
  kind: fc.nat({ max: 9 }),
});

const change: fc.Arbitrary<ClusterEvent> = fc.oneof(
  { weight: 6, arbitrary: drawn.map(policyEvent) },
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

/** About as many as make bundles of what one class has, or all; then some at a time. */
const history = fc
  .tuple(fc.array(drawn, { minLength: 25, maxLength: 90, size: 'max' }), fc.array(change, { maxLength: 6 }))
  .map(([first, then]): Step[] => [
    ...eventsOf(population()).map(event => ({ event, flush: false })),
    ...first.map((one, i) => ({ event: policyEvent({ ...one, name: i }), flush: i === first.length - 1 })),
    ...then.map((event, i) => ({ event, flush: i % 3 !== 1 })),
  ]);

test('incremental equals compile while small policies come to be too many to be merged', () => {
  const count = { flushes: 0, chains: 0 };
  fc.assert(
    fc.property(history, steps => checkHistory(steps, HOW, count)),
    { numRuns: 8 },
  );
  expect(count.chains / count.flushes).toBeGreaterThan(20);
}, 900_000);

test('what bundles of policies say is what the policies say', () => {
  let bundles = 0;
  fc.assert(
    fc.property(history, steps => {
      const cluster = new ClusterState();
      for (const { event } of steps) cluster.apply(event);
      const rulesets = new Map(['n1', 'n2'].map(node => [node, compile(cluster, node)]));
      const evaluate = evaluator(cluster);
      for (const flow of flows()) {
        const wrong = wrongStation(cluster, rulesets, flow, () => evaluate(flow));
        if (wrong !== undefined) throw new Error(`${JSON.stringify(flow)}: ${wrong}`);
      }
      const { chains } = rulesets.get('n1')!.tables.get('ip')!;
      bundles += [...chains.keys()].filter(name => /^(from|to)-.*-more$/.test(name)).length;
    }),
    { numRuns: 6 },
  );
  expect(bundles).toBeGreaterThan(6);
}, 900_000);

function flows(): Flow[] {
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
