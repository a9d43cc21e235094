import { expect, test } from 'vitest';
import { selectorText } from './selector.ts';
import { parseSelector } from './selectortext.ts';

test.each([
  ['app=web', 'app=web'],
  ['app==web', 'app=web'],
  ['app!=web', 'app!=web'],
  ['app = web , tier', 'app=web,tier'],
  ['!legacy', '!legacy'],
  ['tier in (a, b),app=web', 'tier in (a, b),app=web'],
  ['tier notin (a,b)', 'tier notin (a, b)'],
  ['a.example/b=', 'a.example/b='],
])('parseSelector() reads %s', (text, expected) => {
  expect(selectorText(parseSelector(text)!)).toBe(expected);
});

test.each(['', ',', 'app=web=x', 'a b', 'in (a)', 'app in a', '-x', 'app=we b'])(
  'parseSelector() takes "%s" for none',
  text => expect(parseSelector(text)).toBeUndefined(),
);
