import { expect, test } from 'vitest';
import { didYouMean } from './didyoumean.ts';

test.each([
  ['wbe', ['db', 'web', 'api'], 'web'],
  ['shpo', ['guest', 'shop'], 'shop'],
  ['ingerss', ['egress', 'ingress'], 'ingress'],
  ['INGRESS', ['egress', 'Ingress'], 'Ingress'],
  ['selectro', ['selector'], 'selector'],
  ['ab', ['ba', 'bc'], undefined],
  ['web', ['xyz', 'wxy'], undefined],
  ['abcdef', ['badcfe'], undefined],
])('didYouMean() of %s among %j is %s', (word, words, meant) => {
  expect(didYouMean(word, words)).toBe(meant);
});
