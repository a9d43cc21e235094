/** A change in as many batches as there can be: none but the last makes a difference, and an agent may end after any. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { stagesOf } from '../../src/nft/plan/stages.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { historyArbitrary, type Step } from '../support/arbitrary/events.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { runs } from '../support/seed.ts';

const NODE = 'n1';
/** Of one rule, one set, or twenty elements. */
const PORTION = 20;

async function holding(ruleset: Ruleset): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  await kernel.commit(plan((await kernel.dump()).ruleset, ruleset));
  return kernel;
}

/** What of `before` is gone or another, and base chains that are new: what a packet would notice. */
function noticed(before: Ruleset, now: Ruleset): string[] {
  return [...now.tables].flatMap(([family, { chains, sets }]) => {
    const table = before.tables.get(family);
    const changed = [...(table?.sets ?? []), ...(table?.chains ?? [])].filter(([name, object]) => {
      const other = sets.get(name) ?? chains.get(name);
      return JSON.stringify(textOf(other)) !== JSON.stringify(textOf(object));
    });
    const hooked = [...chains.values()].filter(({ name, hook }) => hook && !table?.chains.has(name));
    return [...changed.map(([name]) => name), ...hooked.map(({ name }) => name)];
  });
}

function textOf(object: object | undefined) {
  return object && 'elements' in object ? [...(object.elements as Map<string, unknown>)].sort() : object;
}

async function check(steps: readonly Step[], at: number, count: { batches: number }): Promise<void> {
  const cluster = new ClusterState();
  for (const { event } of steps.slice(0, at)) cluster.apply(event);
  const before = compile(cluster, NODE);
  for (const { event } of steps.slice(at)) cluster.apply(event);
  const desired = compile(cluster, NODE);
  const kernel = await holding(before);
  const held = (await kernel.dump()).ruleset;
  const stages = stagesOf(plan(held, desired), PORTION);
  for (const ops of stages.slice(0, -1)) {
    await kernel.commit(ops);
    const { ruleset } = await kernel.dump();
    expect(noticed(held, ruleset)).toEqual([]);
    await succeeds(ruleset, desired);
    count.batches++;
  }
  await kernel.commit(stages.at(-1)!);
  expect(plan((await kernel.dump()).ruleset, desired)).toEqual([]);
}

/** Whoever finds this in the kernel makes what is desired of it, and leaves nothing else behind. */
async function succeeds(found: Ruleset, desired: Ruleset): Promise<void> {
  const kernel = await holding(found);
  for (const ops of stagesOf(plan((await kernel.dump()).ruleset, desired), PORTION)) await kernel.commit(ops);
  expect(plan((await kernel.dump()).ruleset, desired)).toEqual([]);
}

test('no batch but the last makes a difference to a packet, and after each of them another agent can go on', async () => {
  const count = { batches: 0 };
  await fc.assert(
    fc.asyncProperty(historyArbitrary(16), fc.nat({ max: 15 }), (steps, at) => check(steps, at, count)),
    { numRuns: runs(250, 12) },
  );
  expect(count.batches).toBeGreaterThan(runs(250, 12));
}, 900_000);
