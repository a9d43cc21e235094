import { expect, test } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { compile } from '../compiler/compile.ts';
import { isMarkedRemoved, markedRemoved } from '../compiler/removedmark.ts';
import { allowingUnknownPods, unknownPodsIn } from '../compiler/unknownpods.ts';
import { ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { denyUnknownPodsAgain } from './denyagain.ts';

const state = new ClusterState();
state.apply({
  type: 'node',
  key: 'n1',
  value: { name: 'n1', labels: {}, addresses: [], podCidrs: ['10.244.1.0/24'] },
});
const OPEN = allowingUnknownPods(compile(state, 'n1', 'deny'));

async function after(found: Ruleset): Promise<readonly [Ruleset, readonly string[]]> {
  const kernel = new FakeKernel();
  await kernel.commit(plan({ tables: new Map() }, found));
  const lines: string[] = [];
  await denyUnknownPodsAgain(
    { warn: (_: object, line: string) => void lines.push(line) } as never,
    async () => kernel.another(),
  );
  return [(await kernel.dump()).ruleset, lines];
}

test('an agent that finds the mark of a removal denies unknown pods at once, and takes the mark away', async () => {
  const [ruleset, lines] = await after(markedRemoved(OPEN));
  expect([unknownPodsIn(ruleset), isMarkedRemoved(ruleset)]).toEqual(['deny', false]);
  expect(lines).toEqual([expect.stringContaining('unknown pods are denied again')]);
});

test('one that finds no mark leaves the rules as they are', async () => {
  const [ruleset, lines] = await after(OPEN);
  expect([plan(ruleset, OPEN), lines]).toEqual([[], []]);
});

test('where the kernel refuses it, the agent says so and goes on', async () => {
  const lines: string[] = [];
  const log = { warn: (_: object, line: string) => void lines.push(line) } as never;
  await denyUnknownPodsAgain(log, () => Promise.reject(new Error('EPERM')));
  expect(lines).toEqual(['unknown pods are denied again with the first rules: EPERM']);
});
