import { expect, test } from 'vitest';
import { absolute } from './row.ts';
import { choose, SUITES } from './suites.ts';

const row = absolute('commit of one element', 'µs', 20, 100);

test.each([
  { words: [], suites: SUITES.map(({ name }) => name), wanted: true },
  { words: ['commit'], suites: ['commit'], wanted: true },
  { words: ['commit', 'events'], suites: ['events', 'commit'], wanted: true },
  { words: ['commit', 'one element'], suites: ['commit'], wanted: true },
  { words: ['commit', '100,000'], suites: ['commit'], wanted: false },
])('choose() takes $words as names of suites, and of parts of their rows', ({ words, suites, wanted }) => {
  const chosen = choose(words);
  expect(chosen?.suites.map(({ name }) => name)).toEqual(suites);
  expect(chosen?.isWanted(row)).toBe(wanted);
});

test('choose() takes a part of a suite that has parts for what is measured, and not for a part of rows', () => {
  const chosen = choose(['neighbours', 'excepts']);
  expect(['excepts', 'rules'].filter(part => chosen!.isPartWanted(part))).toEqual(['excepts']);
  expect(chosen!.isWanted(row)).toBe(true);
  expect(choose(['neighbours'])!.isPartWanted('rules')).toBe(true);
});

test('choose() takes no word for a part of rows where no suite is named', () => {
  expect(choose(['comit'])).toBeUndefined();
});
