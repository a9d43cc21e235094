import { expect, test } from 'vitest';
import type { Ruleset } from '../nft/ruleset.ts';
import { inTurn } from './engine.ts';

test('passes make other rules of what is new, one behind the other, and the same object of what is not', () => {
  const made: string[] = [];
  const copying = (name: string) => (ruleset: Ruleset) => {
    made.push(name);
    return { tables: new Map(ruleset.tables) };
  };
  const passed = inTurn([copying('a'), copying('b')]);
  const [first, second]: Ruleset[] = [{ tables: new Map() }, { tables: new Map() }];
  const result = passed(first!);
  expect(result).toEqual(first);
  expect(passed(first!)).toBe(result);
  expect(made).toEqual(['a', 'b']);
  expect(passed(second!)).not.toBe(result);
  expect(made).toEqual(['a', 'b', 'a', 'b']);
});

test('without a pass the rules are those of the engine', () => {
  const ruleset: Ruleset = { tables: new Map() };
  expect(inTurn([])(ruleset)).toBe(ruleset);
});
