/** Beside a tenant with large policies: when a neighbour's change is programmed, counted in commits and not in time. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  allowNetwork,
  crowd,
  ingressPolicy,
  podEvent,
  policyEvent,
  selecting,
  tenantPod,
} from '../../test/support/agent/tenants.ts';
import { VirtualTime } from '../../test/support/agent/virtualtime.ts';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { assertExactly, assertInForce } from '../../test/support/oracle/inforce.ts';
import { runs } from '../../test/support/seed.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { MOST_LOOKUPS } from '../compiler/live/pods/livepods.ts';
import type { ClusterEvent } from '../model/cluster.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { Agent } from './agent.ts';
import type { Committed } from './committed.ts';

const NODE = 'n1';

const pod = (namespace: string, n: number, labels = {}) => podEvent(tenantPod(namespace, n, { labels }));

function policy(name: `${string}/${string}`, rules: number, version = 0): ClusterEvent {
  const ingress = Array.from({ length: rules }, (_, n) => allowNetwork(n, 1000 + version));
  return policyEvent(ingressPolicy(name, ingress));
}

const pass = (ms: number) => time.pass(ms);

async function passUntil(isOver: () => boolean): Promise<void> {
  await time.pass(30_000, isOver);
  expect(isOver()).toBe(true);
}

let time: VirtualTime;
let stop: AbortController;
let running: Promise<void>;
let agent: Agent;
/** The policies that each commit was for, and how long a batch takes that has a large policy. */
let commits: (readonly string[])[];
let largeMs: number;
/** How many elements each commit made. */
let sizes: number[];
/** The rules that the last commit programmed. */
let programmed: Ruleset;
/** Differences between each batch and the expected one. */
let wrong: unknown[];

beforeEach(begin);
afterEach(end);

function begin(): void {
  [time, stop, commits, sizes, largeMs, wrong] = [new VirtualTime(), new AbortController(), [], [], 0, []];
  const fake = new FakeKernel({ owners: true });
  agent = new Agent({
    open: async () => {
      const kernel = fake.another();
      const commit = kernel.commit.bind(kernel);
      kernel.commit = async (ops, expected) => {
        if (ops.some(op => op.op === 'addElements' && op.elements.length > 100))
          await time.sleep(largeMs, stop.signal);
        return commit(ops, expected);
      };
      return kernel;
    },
    engine: () => new Incremental(NODE),
    node: NODE,
    timing: time,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    observers: [{ committed: check }],
  });
  for (const namespace of ['good', 'evil-1', 'wicked-22']) agent.apply([pod(namespace, 1)]);
  running = agent.run(stop.signal);
}

/** After every batch the rules are what `compile` makes of the cluster as far as it was taken in. */
function check({ names, cluster, ruleset, ops }: Committed): void {
  try {
    assertInForce(ruleset, cluster, agent.podsInForce);
  } catch (error) {
    wrong.push(error);
  }
  programmed = ruleset;
  if (ops.length === 0) return;
  commits.push(names);
  sizes.push(ops.reduce((sum, op) => sum + (op.op === 'addElements' ? op.elements.length : 0), 0));
}

async function end(): Promise<void> {
  stop.abort();
  await running;
  expect(wrong).toEqual([]);
}

test('a neighbour’s policy is in the batch after the one under way, whatever two tenants edit without end', async () => {
  await pass(1000);
  largeMs = 60;
  commits.length = 0;
  const waits: number[] = [];
  const companions: (readonly string[])[] = [];
  for (let n = 0; n < 100; n++) {
    agent.apply([policy('evil-1/huge', 400, n)]);
    agent.apply([policy('wicked-22/huge', 400, n), policy('wicked-22/other', 400, n)]);
    if (n % 10 === 5) {
      const before = commits.length;
      agent.apply([policy(`good/deny-${n}`, 0)]);
      const name = `NetworkPolicy good/deny-${n}`;
      for (let ms = 0; ms < 400 && !commits.flat().includes(name); ms += 10) await pass(10);
      const at = commits.slice(before).findIndex(names => names.includes(name));
      waits.push(at);
      companions.push(commits[before + at]!.filter(other => other !== name));
    }
    await pass(100);
  }
  expect(waits).toHaveLength(10);
  for (const wait of waits) expect([0, 1]).toContain(wait);
  expect(companions.flat()).toEqual([]);
  // The tenants themselves are not starved, and their edits become few commits.
  for (const name of ['evil-1/huge', 'wicked-22/huge', 'wicked-22/other'])
    expect(commits.filter(names => names.includes(`NetworkPolicy ${name}`)).length).toBeGreaterThan(10);
});

test('a hundred urgent pod starts leave no debt to the next policy', async () => {
  await pass(1000);
  for (let n = 2; n < 112; n++) {
    agent.apply([pod('evil-1', n)], { urgent: true });
    await pass(5);
  }
  // The neighbour waits less than a tenth of a second, although another tenant tightens at the same time.
  for (let n = 0; n < 20; n++) agent.apply([policy(`evil-1/deny-${n}`, 0)]);
  await pass(1);
  const before = commits.length;
  agent.apply([policy('good/deny', 0)]);
  await pass(5);
  expect(commits.slice(before).flat()).toContain('NetworkPolicy good/deny');
});

test('who tightens without end waits like everybody else, and others go on ahead of the budget', async () => {
  await pass(1000);
  commits.length = 0;
  const waits: number[] = [];
  for (let n = 0; n < 200; n++) {
    agent.apply([policy(`evil-1/deny-${n}`, 0)]);
    await pass(10);
    if (n % 50 !== 40) continue;
    const name = `NetworkPolicy good/deny-${n}`;
    agent.apply([policy(`good/deny-${n}`, 0)]);
    let ms = 0;
    for (; !commits.flat().includes(name) && ms < 1000; ms++) await pass(1);
    waits.push(ms);
  }
  expect(waits).toEqual([1, 1, 1, 1]);
  // 2 s and a little: ten commits in each, the burst, the reserve, and what four denies took in advance.
  expect(commits.length).toBeLessThanOrEqual(20 + 5 + 10 + 4);
});

test('a pod that starts is isolated by all new policies of its namespace in its own batch, however large and many', async () => {
  await pass(1000);
  largeMs = 500;
  agent.apply([policy('evil-1/first', 400)]);
  await pass(510);
  const names = Array.from({ length: 2000 }, (_, n) => `evil-1/next-${n}` as const);
  agent.apply([...names.map(name => policy(name, 400)), pod('evil-1', 2)], { urgent: true });
  await pass(1);
  const inForce = names.map(name => agent.cluster.policies.get(`NetworkPolicy ${name}`)?.ingress);
  expect(inForce.filter(ingress => ingress === undefined)).toEqual([]);
  expect(inForce.filter(ingress => ingress!.length > 0)).toEqual([]);
});

test('whatever comes when, every batch is what compile makes, and in the end all is programmed', async () => {
  const step = fc.record({
    what: fc.constantFrom('pod', 'labels', 'gone', 'small', 'large', 'removed'),
    namespace: fc.constantFrom('good', 'evil-1', 'wicked-22'),
    n: fc.integer({ min: 1, max: 3 }),
    waitMs: fc.constantFrom(0, 1, 30, 200),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.nat(150), async (steps, ms) => {
      await end();
      begin();
      largeMs = ms;
      const told = new Map<string, unknown>();
      for (const [at, { what, namespace, n, waitMs }] of steps.entries()) {
        const event = eventOf(what, namespace, n, at);
        if (event.type === 'policy') told.set(event.key, event.value);
        agent.apply([event]);
        await pass(waitMs);
      }
      await pass(60_000);
      const wanted = [...told].filter(([, value]) => value !== undefined);
      expect([...agent.cluster.policies].sort()).toEqual(wanted.sort());
    }),
    { numRuns: runs(25, 10) },
  );
}, 60_000);

function eventOf(what: string, namespace: string, n: number, at: number): ClusterEvent {
  const name = `${namespace}/p${n}` as const;
  switch (what) {
    case 'pod':
      return pod(namespace, n);
    case 'labels':
      return pod(namespace, n, { at: String(at) });
    case 'gone':
      return { type: 'pod', key: name };
    case 'small':
      return policy(name, 1, at);
    case 'large':
      return policy(name, 310, at);
    default:
      return { type: 'policy', key: `NetworkPolicy ${name}` };
  }
}

test('while hundreds of pods are relabelled that hundreds of selectors mention, a neighbour’s policy is in the batch after the one under way', async () => {
  agent.apply([...crowd('evil-1', 400, 'blue'), selecting('evil-1/many', 200)]);
  await pass(3000);
  commits.length = 0;
  agent.apply(crowd('evil-1', 400, 'red').slice(200));
  await passUntil(() => commits.length > 0);
  const before = commits.length;
  agent.apply([policy('good/deny', 0)]);
  await pass(600); // before the loop looks by itself
  // It may also be in the batch after the one that is under way.
  const at = commits.slice(before).findIndex(names => names.includes('NetworkPolicy good/deny'));
  expect([0, 1]).toContain(at);
  expect(commits.length).toBeGreaterThan(3);
  assertExactly(programmed, agent.cluster);
});

test('of pods that change again and again while they wait it is known what is in force', async () => {
  agent.apply([...crowd('evil-1', 600, 'blue'), selecting('evil-1/many', 240)]);
  await pass(3000);
  const labels = ['green', 'red', 'blue'];
  agent.observe({
    committed: ({ waitingPods }) => {
      if (waitingPods.size > 0 && labels.length > 0)
        agent.apply(crowd('evil-1', 600, labels.shift()!).slice(300));
    },
  });
  agent.apply(crowd('evil-1', 600, 'red'));
  await passUntil(() => labels.length === 0);
  await pass(3000);
  expect(agent.podsInForce.size).toBe(0);
});

test('while a tenant writes policies whose selectors mean very many pods, a neighbour’s policy is in the batch after the one under way', async () => {
  agent.apply(crowd('evil-1', 400, 'red'));
  await pass(3000);
  commits.length = 0;
  // The text of the second is small.
  agent.apply([selecting('evil-1/many', 200), selecting('evil-1/more', 40, 'y')]);
  await passUntil(() => commits.length > 0);
  const before = commits.length;
  agent.apply([policy('good/deny', 0)]);
  await pass(30_000);
  const at = commits.slice(before).findIndex(names => names.includes('NetworkPolicy good/deny'));
  expect([0, 1]).toContain(at);
  expect(Math.max(...sizes)).toBeLessThan(2 * MOST_LOOKUPS);
  assertExactly(programmed, agent.cluster);
  expect(agent.cluster.policies.get('NetworkPolicy evil-1/more')?.ingress).toHaveLength(40);
});
