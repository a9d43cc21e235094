import { expect, test } from 'vitest';
import { inspectedName } from './readback.ts';

test.each([
  [undefined, {}, undefined],
  ['web', {}, 'web'],
  [undefined, { namespace: 'shop' }, 'shop'],
  [undefined, { namespace: 'shop', allNamespaces: true }, undefined],
  ['web', { namespace: 'shop' }, 'shop/web'],
  ['web', { namespace: 'shop', allNamespaces: true }, 'shop/web'],
  ['data/db', { namespace: 'shop' }, 'data/db'],
  ['NetworkPolicy db', { namespace: 'shop' }, 'NetworkPolicy shop/db'],
  ['NetworkPolicy data/db', { namespace: 'shop' }, 'NetworkPolicy data/db'],
  ['ClusterNetworkPolicy platform', { namespace: 'shop' }, 'ClusterNetworkPolicy platform'],
  ['cnp:platform', { namespace: 'shop' }, 'cnp:platform'],
  ['$&', { namespace: '$1' }, '$1/$&'],
])('inspectedName() of %j with %j is %j', (what, options, expected) => {
  expect(inspectedName(what, options)).toBe(expected);
});
