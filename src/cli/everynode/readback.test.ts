import { expect, test } from 'vitest';
import { inspectedNames } from './readback.ts';

test.each([
  [[], {}, []],
  ['web', {}, 'web'],
  [[], { namespace: 'shop' }, 'shop'],
  [[], { namespace: 'shop', allNamespaces: true }, []],
  ['app=web', { namespace: 'shop' }, 'shop/app=web'],
  ['deploy/web', { namespace: 'shop' }, 'deploy/web'],
  ['10.0.0.7', { namespace: 'shop' }, '10.0.0.7'],
  [['web', 'db'], { namespace: 'shop' }, ['shop/web', 'shop/db']],
  ['web', { namespace: 'shop' }, 'shop/web'],
  ['web', { namespace: 'shop', allNamespaces: true }, 'shop/web'],
  ['data/db', { namespace: 'shop' }, 'data/db'],
  ['NetworkPolicy db', { namespace: 'shop' }, 'NetworkPolicy shop/db'],
  ['NetworkPolicy data/db', { namespace: 'shop' }, 'NetworkPolicy data/db'],
  ['ClusterNetworkPolicy platform', { namespace: 'shop' }, 'ClusterNetworkPolicy platform'],
  ['cnp:platform', { namespace: 'shop' }, 'cnp:platform'],
  ['$&', { namespace: '$1' }, '$1/$&'],
])('inspectedNames() of %j with %j are %j', (what, options, expected) => {
  expect(inspectedNames([what].flat(), options)).toEqual([expected].flat());
});
