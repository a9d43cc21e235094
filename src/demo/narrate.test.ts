import { expect, test } from 'vitest';
import { wrap } from './narrate.ts';

test('wrap() breaks between words and goes on further in', () => {
  expect(wrap('  one two three', 10)).toEqual(['  one two', '      three']);
  expect(wrap('  one two three', 15)).toEqual(['  one two three']);
});

test('wrap() leaves a word that is too long in one piece', () => {
  expect(wrap('aaaaaaaaaaaa bb', 5)).toEqual(['aaaaaaaaaaaa', '    bb']);
});
