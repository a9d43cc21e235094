import { expect, test } from 'vitest';
import { ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { isMarkedRemoved, markedRemoved } from './removedmark.ts';

const RULESET = compile(new ClusterState(), 'n1');

test('a mark is one empty chain in each table, and the next agent takes it away', () => {
  const marked = markedRemoved(RULESET);
  expect(isMarkedRemoved(RULESET)).toBe(false);
  expect(isMarkedRemoved(marked)).toBe(true);
  expect(plan(RULESET, marked).map(({ op }) => op)).toEqual([...RULESET.tables].map(() => 'addChain'));
  expect(plan(marked, RULESET).map(({ op }) => op)).toEqual([...RULESET.tables].map(() => 'delChain'));
  expect(plan(marked, markedRemoved(marked))).toEqual([]);
});

test('where there is no table there is nothing to mark', () => {
  expect(isMarkedRemoved(markedRemoved({ tables: new Map() }))).toBe(false);
});
