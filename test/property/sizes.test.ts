/** Policies at sizes that cross every limit: of the compiler, of the budget, of the kernel. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LARGE_POLICIES, networkPolicy } from '../../bench/largepolicies.ts';
import { compile } from '../../src/compiler/compile.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import type { ClusterEvent } from '../../src/model/cluster.ts';
import { NamespaceBudget } from '../../src/model/namespacebudget.ts';
import type { Policy } from '../../src/model/policy.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { stagesOf } from '../../src/nft/plan/stages.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { replay } from '../support/agent/replay.ts';
import { eventsOf, stepsOf } from '../support/arbitrary/events.ts';
import { clusterWith, flowsAt, NODE } from '../support/arbitrary/largepolicies.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { wrongStation } from '../support/oracle/equivalence.ts';
import { runs } from '../support/seed.ts';

const SIZES = [
  0, 1, 2, 3, 8, 9, 10, 11, 24, 25, 26, 27, 40, 41, 42, 63, 64, 65, 85, 86, 127, 128, 129, 200, 260,
];
const LARGEST = [1_000, 3_000, 5_001];

/** Of the one pod of this node. */
function one(name: string, spec: object): object {
  return networkPolicy('shop', name, { podSelector: { matchLabels: { app: 'a0' } }, ...spec });
}

/** One policy alone: what it says is what is enforced, whatever its size, and the kernel takes it. */
async function check(objects: readonly object[]): Promise<void> {
  const cluster = clusterWith(objects);
  const ruleset = compile(cluster, NODE);
  const rulesets = new Map([
    [NODE, ruleset],
    ['n2', compile(cluster, 'n2')],
  ]);
  const evaluate = evaluator(cluster);
  for (const policy of cluster.policies.values()) {
    for (const flow of flowsAt(policy)) {
      const wrong = wrongStation(cluster, rulesets, flow, () => evaluate(flow));
      if (wrong !== undefined) throw new Error(`${JSON.stringify(flow)}: ${wrong}`);
    }
  }
  const kernel = new FakeKernel();
  for (const ops of stagesOf(plan((await kernel.dump()).ruleset, ruleset))) await kernel.commit(ops);
  expect(plan((await kernel.dump()).ruleset, ruleset)).toEqual([]);
  replay(stepsOf(eventsOf(cluster)));
}

test.each(Object.entries(LARGE_POLICIES))(
  '%s: every size up to 260',
  async (_, spec) => {
    for (const n of SIZES) await check([one('x', spec(n))]);
  },
  300_000,
);

test.each(Object.entries(LARGE_POLICIES))(
  '%s: thousands',
  async (_, spec) => {
    for (const n of LARGEST) await check([one('x', spec(n))]);
  },
  300_000,
);

test('two policies of any kinds and sizes on one pod', async () => {
  const kinds = Object.values(LARGE_POLICIES);
  const sized = fc.tuple(fc.constantFrom(...kinds), fc.constantFrom(...SIZES, 500));
  await fc.assert(
    fc.asyncProperty(sized, sized, async ([a, n], [b, m]) => check([one('x', a(n)), one('y', b(m))])),
    { numRuns: runs(60) },
  );
}, 900_000);

test('incremental equals compile while policies of all kinds and sizes come, change and go', () => {
  const kinds = Object.values(LARGE_POLICIES);
  const policy = fc.tuple(
    fc.constantFrom('x', 'y', 'z'),
    fc.constantFrom(...kinds),
    fc.constantFrom(...SIZES, 400),
  );
  const pod = fc.tuple(fc.integer({ min: 0, max: 11 }), fc.integer({ min: 0, max: 11 }));
  const event = fc.oneof(
    { weight: 4, arbitrary: policy.map(([name, spec, n]) => decodeObject(one(name, spec(n))).event!) },
    { weight: 1, arbitrary: fc.constantFrom('x', 'y', 'z').map(gone) },
    { weight: 2, arbitrary: pod.map(([i, app]) => relabelled(i, `a${app}`)) },
  );
  const batches = fc.array(fc.array(event, { maxLength: 4 }), { maxLength: 6 });
  const room = fc.constantFrom(
    { policies: 2_000, entries: 25_000, selectors: 1_000 },
    { policies: 2, entries: 400, selectors: 40 },
  );
  fc.assert(
    fc.property(batches, room, (history, most) => {
      const budget = new NamespaceBudget(most);
      const steps = [eventsOf(clusterWith([])), ...history].flatMap(events =>
        stepsOf(budget.pass(events), (at, last) => at === last),
      );
      replay(steps);
    }),
    { numRuns: runs(150) },
  );
}, 900_000);

function gone(name: string): ClusterEvent {
  return { type: 'policy', key: `NetworkPolicy shop/${name}` };
}

function relabelled(i: number, app: string): ClusterEvent {
  const value = clusterWith([]).pods.get(`shop/p${i}`)!;
  return { type: 'pod', key: value.key, value: { ...value, labels: { app } } };
}

test('a policy beyond its budget isolates its pods in the directions that it is about, and its author is told', () => {
  const { event, problems } = decodeObject(
    networkPolicy('shop', 'x', LARGE_POLICIES['exceptions of a network']!(5_001)),
  );
  const policy = event!.value as Policy;
  expect([policy.ingress, policy.egress]).toEqual([undefined, []]);
  expect(problems).toMatchObject([
    {
      severity: 'error',
      field: 'spec',
      message:
        'has more than 5000 entries (rules, peers, exceptions, ports and values of selectors), and 5000 are the most',
      effect: 'the policy isolates its pods and allows nothing until it is smaller',
    },
  ]);
});
