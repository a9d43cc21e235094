import { expect, test } from 'vitest';
import { makeColours, toTerminal } from './colours.ts';
import { comments, wrap } from './wrap.ts';

test('wrap() breaks between words and goes on further in', () => {
  expect(wrap('  one two three', 10, 6)).toEqual(['  one two', '      three']);
  expect(wrap('  one two three', 15, 6)).toEqual(['  one two three']);
});

test('wrap() leaves a word that is too long in one piece', () => {
  expect(wrap('aaaaaaaaaaaa bb', 5, 4)).toEqual(['aaaaaaaaaaaa', '    bb']);
  expect(wrap('  aaaaaaaaaaaa bb', 5)).toEqual(['  aaaaaaaaaaaa', 'bb']);
});

test('wrap() keeps columns that fit, and begins no line with the space between two', () => {
  expect(wrap('open    shop/web', 16)).toEqual(['open    shop/web']);
  expect(wrap('open    shop/web', 10, 2)).toEqual(['open', '  shop/web']);
});

test('wrap() counts no colours', () => {
  const { red } = makeColours(true);
  const painted = toTerminal(red('one'));
  expect(wrap(`${painted} two three`, 7)).toEqual([`${painted} two`, 'three']);
});

test('wrap() counts no colours that a line will have, either', () => {
  const { green } = makeColours(true);
  const lines = wrap(`  ${green('allow')}  one two`, 16, 9);
  expect(lines.map(toTerminal)).toEqual(['  \x1b[32mallow\x1b[39m  one two']);
});

test('comments() are broken for a terminal, and each broken line is one', () => {
  expect(comments(['one two three', '  four'], 10)).toEqual(['# one two', '# three', '#   four']);
  expect(comments(['one two three'], undefined)).toEqual(['# one two three']);
});
