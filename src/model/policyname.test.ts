import { expect, test } from 'vitest';
import type { PolicyId } from './policy.ts';
import { isCalled, isCalledAnywhere, labelOf } from './policyname.ts';

const [WEB, PLATFORM]: PolicyId[] = ['NetworkPolicy shop/web', 'ClusterNetworkPolicy platform'];

test.each([
  [WEB!, 'NetworkPolicy shop/web', true],
  [WEB!, 'shop/web', true],
  [WEB!, 'web', false],
  [WEB!, 'cnp:shop/web', false],
  [PLATFORM!, 'ClusterNetworkPolicy platform', true],
  [PLATFORM!, 'cnp:platform', true],
  [PLATFORM!, 'platform', true],
  [PLATFORM!, 'anp:platform', false],
  [PLATFORM!, 'AdminNetworkPolicy platform', false],
  ['AdminNetworkPolicy guard', 'anp:guard', true],
  ['BaselineAdminNetworkPolicy default', 'banp:default', true],
] as const)('isCalled() of %s by %s is %s', (id, asked, expected) => {
  expect(isCalled(id, asked)).toBe(expected);
});

test.each([
  [WEB!, 'web', true],
  [WEB!, 'eb', false],
  [PLATFORM!, 'cnp:platform', true],
  [PLATFORM!, 'form', false],
])('isCalledAnywhere() of %s by %s is %s', (id, asked, expected) => {
  expect(isCalledAnywhere(id, asked)).toBe(expected);
});

test('labelOf() makes a label of an id, and leaves a label as it is', () => {
  expect([WEB!, PLATFORM!, 'cnp:platform', 'shop'].map(labelOf)).toEqual([
    'shop/web',
    'cnp:platform',
    'cnp:platform',
    'shop',
  ]);
});
