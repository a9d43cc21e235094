import { expect, test } from 'vitest';
import { ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import { mapTables, type Ruleset } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import { LAYOUT, layoutChange } from './layout.ts';

const OURS = compile(new ClusterState(), 'n1');

/** Tables of ours, as an agent of another layout left them. */
function left(name: string | undefined): Ruleset {
  return mapTables(OURS, table => {
    const chains = new Map(table.chains);
    chains.delete(`layout-${LAYOUT}`);
    if (name !== undefined) chains.set(name, { name, rules: [] });
    return { ...table, chains };
  });
}

test('every table of ours says its layout', () => {
  for (const { chains } of OURS.tables.values()) expect([...chains.keys()]).toContain(`layout-${LAYOUT}`);
});

test.each([
  ['without a number', left(undefined), { from: undefined, to: LAYOUT }],
  ['of a newer agent', left('layout-99'), { from: 99, to: LAYOUT }],
  ['with a chain of somebody else’s', left('layout-of-mine'), { from: undefined, to: LAYOUT }],
  ['of our own', OURS, undefined],
  ['that are missing', { tables: new Map() }, undefined],
] as const)('a batch that leads from tables %s tells the layouts', (_, actual, change) => {
  expect(layoutChange(plan(actual, OURS))).toEqual(change);
});
