import { expect, test } from 'vitest';
import { type Problem, problemTexts } from './problem.ts';

const tooMany = (name: string, entries: number): Problem => ({
  severity: 'error',
  object: `NetworkPolicy many/${name}`,
  message: `is too much for its namespace, with ${entries} entries`,
  effect: 'it allows nothing',
});

test('what is wrong with many objects in one way is said of some, and counted of the others', () => {
  const problems = Array.from({ length: 1_203 }, (_, n) => tooMany(`p${n}`, n));
  const other: Problem = { ...tooMany('x', 7), effect: 'it isolates' };
  const texts = problemTexts([...problems, other]);
  expect(texts).toEqual([
    ...[0, 1, 2].map(
      n => `NetworkPolicy many/p${n}: is too much for its namespace, with ${n} entries; it allows nothing`,
    ),
    'the same of 1,200 other objects, but for numbers',
    'NetworkPolicy many/x: is too much for its namespace, with 7 entries; it isolates',
  ]);
});

test('a line is not saved for one object', () => {
  const problems = Array.from({ length: 4 }, (_, n) => tooMany(`p${n}`, n));
  expect(problemTexts(problems)).toHaveLength(4);
  expect(problemTexts([...problems, tooMany('p4', 4)])).toHaveLength(4);
  expect(problemTexts([])).toEqual([]);
});

test('of very many things that are wrong the first are said', () => {
  const letters = (n: number) => String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26));
  const problems = Array.from({ length: 300 }, (_, n) => ({ ...tooMany('p', 1), effect: letters(n) }));
  const texts = problemTexts(problems);
  expect(texts).toHaveLength(21);
  expect(texts.at(-1)).toBe('and 280 more that is wrong with what was read: sluice check lists it');
});
