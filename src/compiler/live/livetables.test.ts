import { expect, test } from 'vitest';
import type { Chain, Ruleset } from '../../nft/ruleset.ts';
import { LiveTables } from './livetables.ts';

const chain = (name: string): Chain => ({ name, rules: [] });

function chainNames({ tables }: Ruleset): string[] {
  return [...tables.get('ip')!.chains.keys()].sort();
}

test('a part that is replaced takes its old objects with it, and leaves those of others', () => {
  const tables = new LiveTables();
  tables.setChain('ip', 'in-web', chain('in-web'));
  tables.setPart('ip', 'nodes', { chains: [chain('a'), chain('b')], sets: [] });
  expect(chainNames(tables.ruleset(undefined))).toEqual(['a', 'b', 'in-web']);
  tables.setPart('ip', 'nodes', { chains: [chain('b'), chain('c')], sets: [] });
  expect(chainNames(tables.ruleset(undefined))).toEqual(['b', 'c', 'in-web']);
});

test('what did not change is the same object: the part of a table, the table, and all tables', () => {
  const tables = new LiveTables();
  const part = { chains: [chain('a')], sets: [] };
  tables.setPart('ip', 'nodes', part);
  const before = tables.ruleset(undefined);
  tables.setPart('ip', 'nodes', part);
  tables.setChain('ip6', 'gone', undefined);
  expect(tables.ruleset(undefined)).toBe(before);
  tables.setChain('ip6', 'b', chain('b'));
  const after = tables.ruleset(undefined);
  expect(after.tables.get('ip')).toBe(before.tables.get('ip'));
  expect(after.tables.get('ip6')!.sets).toBe(before.tables.get('ip6')!.sets);
});

test('a ruleset that was handed out stays what it was', () => {
  const tables = new LiveTables();
  tables.setChain('ip', 'a', chain('a'));
  const before = tables.ruleset(undefined);
  tables.setChain('ip', 'a', undefined);
  tables.setChain('ip', 'b', chain('b'));
  expect(chainNames(tables.ruleset(undefined))).toEqual(['b']);
  expect(chainNames(before)).toEqual(['a']);
});
