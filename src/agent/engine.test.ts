import { expect, test } from 'vitest';
import type { Ruleset } from '../nft/ruleset.ts';
import { remembering } from './engine.ts';

test('passes make other rules of what is new, one behind the other, and the same object of what is not', () => {
  const made: string[] = [];
  const copying = (name: string) => (ruleset: Ruleset) => {
    made.push(name);
    return { tables: new Map(ruleset.tables) };
  };
  const passes = remembering([copying('a'), copying('b')]);
  const passed = (ruleset: Ruleset) => passes.reduce((before, pass) => pass(before), ruleset);
  const [first, second]: Ruleset[] = [{ tables: new Map() }, { tables: new Map() }];
  const result = passed(first!);
  expect(result).toEqual(first);
  expect(passed(first!)).toBe(result);
  expect(made).toEqual(['a', 'b']);
  expect(passed(second!)).not.toBe(result);
  expect(made).toEqual(['a', 'b', 'a', 'b']);
});
