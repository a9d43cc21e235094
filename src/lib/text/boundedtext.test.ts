import { expect, test } from 'vitest';
import { problemText } from '../../model/problem.ts';
import { boundedText } from './boundedtext.ts';

const LONG = 'a'.repeat(300_000);

test.each([
  ['a sentence', 'nothing is wrong with this one', 'nothing is wrong with this one'],
  ['the longest name that there is', `Pod ${'a'.repeat(63)}/${'b'.repeat(230)}`, undefined],
  [
    'a word that is no name',
    `Pod "${LONG}" and Pod ${LONG}`,
    `Pod "${'a'.repeat(199)}… and Pod ${'a'.repeat(200)}…`,
  ],
])('boundedText() of %s', (_, text, bounded = text) => {
  expect(boundedText(text)).toBe(bounded);
});

test('boundedText() of many words ends', () => {
  expect(boundedText('all these words '.repeat(10_000))).toHaveLength(4_001);
});

test('problemText() is short enough to read, however long the names of an object and its fields are', () => {
  const problem = {
    severity: 'error',
    file: 'a.yaml',
    object: LONG,
    field: LONG,
    message: `${LONG} is wrong`,
  } as const;
  const text = problemText({ ...problem, effect: 'it is not applied' });
  expect(text).toMatch(/^a\.yaml: a+…: a+… a+… is wrong; it is not applied$/);
  expect(text.length).toBeLessThan(1_000);
});
