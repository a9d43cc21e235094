import { expect, test } from 'vitest';
import { fieldsAt } from './fields.ts';

test('words that every object of JavaScript has are no fields', () => {
  for (const word of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    expect(fieldsAt(word, ['name'])).toEqual([]);
    expect(fieldsAt('NetworkPolicy', ['spec', word])).toEqual([]);
    expect(fieldsAt(word, ['spec', 'podSelector'])).toEqual(['matchLabels', 'matchExpressions']);
  }
});
