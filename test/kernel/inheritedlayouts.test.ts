/** What an agent reads of the rules that it finds, before it replaces them, it reads of every layout that was recorded. */
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { isolatedPodsIn } from '../../src/compiler/isolatedpods.ts';
import { unknownPodsIn } from '../../src/compiler/unknownpods.ts';
import { madeFrom } from '../../src/daemon/source/startcondition.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { layoutCluster, recordedLayouts, rulesetOf } from '../support/agent/layouts.ts';
import { NODE } from '../support/packets/site.ts';

function read(ruleset: Ruleset) {
  return {
    isolated: isolatedPodsIn(ruleset),
    madeFrom: madeFrom(ruleset),
    unknownPods: unknownPodsIn(ruleset),
  };
}

function today(): Ruleset {
  const cluster = layoutCluster();
  return compile(cluster, NODE);
}

test.each(recordedLayouts().map(layout => [layout.layout, layout.commit, layout] as const))(
  'whom it isolates, and what it was made from: layout %i of %s',
  async (_, __, layout) => {
    expect(read(await rulesetOf(layout))).toEqual(read(today()));
  },
);

test('of the cluster that they were made of there is something to read', () => {
  const { isolated, madeFrom } = read(today());
  expect([...isolated]).toEqual([['probe/t', new Set(['ingress', 'egress'])]]);
  expect(madeFrom).toContain('ClusterNetworkPolicy');
  expect(madeFrom).toContain('Namespace');
});
