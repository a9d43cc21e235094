/**
 * 10,000 of everything that a policy may repeat, in both families, and all that a rule may hold beside each other: the
 * kernel takes what is made of it, what is in force says what the reference says, and a neighbour's policy stands
 * beside it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LARGE_POLICIES, networkPolicy } from '../../../bench/largepolicies.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Cluster } from '../../../src/model/cluster.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { stagesOf } from '../../../src/nft/plan/stages.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { evaluator } from '../../../src/semantics/evaluate.ts';
import { clusterWith, flowsAt, NODE } from '../../support/arbitrary/largepolicies.ts';
import { wrongStation } from '../../support/oracle/equivalence.ts';
import { Netns } from '../netns.ts';
import { COMBINED } from './combined.ts';

const MANY = 10_000;
/** Within the budget, and on both sides of what one rule holds. */
const FEW = [26, 200];

let netns: Netns;
let kernel: Kernel;

beforeAll(async () => {
  netns = new Netns();
  kernel = await netns.run(() => openNftKernel());
});

afterAll(() => {
  kernel.close();
  netns.close();
});

test.each(Object.entries(LARGE_POLICIES))('10,000 times: %s', (_, spec) => holds(spec(MANY)));

test.each(Object.entries(COMBINED))('in one rule: %s', async (_, spec) => {
  for (const n of [...FEW, MANY]) await holds(spec(n));
});

/** Another namespace of this node, whose only policy denies. */
const NEIGHBOUR = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'neighbour', labels: {} } },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'db', namespace: 'neighbour' },
    spec: { nodeName: NODE, containers: [{ name: 'c' }] },
    status: { podIPs: [{ ip: '10.200.1.1' }, { ip: 'fd00:2::1:1' }] },
  },
  networkPolicy('neighbour', 'deny', { policyTypes: ['Ingress'] }),
];

async function holds(spec: Record<string, unknown>): Promise<void> {
  const hostile = networkPolicy('shop', 'x', { podSelector: { matchLabels: { app: 'a0' } }, ...spec });
  const cluster = clusterWith([...NEIGHBOUR, hostile]);
  const desired = compile(cluster, NODE);
  const { ruleset: before } = await kernel.dump();
  for (const ops of stagesOf(plan(before, desired))) await kernel.commit(ops);
  const { ruleset } = await kernel.dump();
  expect(plan(ruleset, desired)).toEqual([]);
  check(cluster, ruleset);
}

/** By the rules as the kernel has them. */
function check(cluster: Cluster, ruleset: Ruleset): void {
  const evaluate = evaluator(cluster);
  const rulesets = new Map([
    [NODE, ruleset],
    ['n2', compile(cluster, 'n2')],
  ]);
  const wrong = [...cluster.policies.values()]
    .flatMap(flowsAt)
    .map(flow => wrongStation(cluster, rulesets, flow, () => evaluate(flow)))
    .filter(found => found !== undefined);
  expect(wrong.slice(0, 1)).toEqual([]);
  const toNeighbour = { from: '10.200.0.2', to: '10.200.1.1', protocol: 'TCP', port: 80 } as never;
  expect(evaluate(toNeighbour).verdict).toBe('deny');
  expect(wrongStation(cluster, rulesets, toNeighbour, () => evaluate(toNeighbour))).toBeUndefined();
}
