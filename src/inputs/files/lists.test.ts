import { expect, test } from 'vitest';
import { flattenLists } from './lists.ts';

const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } };

test('flattenLists() gives any other object back as it is', () => {
  for (const object of [POD, null, 7, [POD], { kind: 'List' }, { kind: 'List', items: 'none' }])
    expect(flattenLists(object)).toEqual([{ object, path: '' }]);
});

test('flattenLists() gives the items of a List with their places, also of lists within it', () => {
  const inner = { apiVersion: 'v1', kind: 'List', items: [POD] };
  expect(flattenLists({ apiVersion: 'v1', kind: 'List', items: [POD, inner, null] })).toEqual([
    { object: POD, path: 'items[0]' },
    { object: POD, path: 'items[1].items[0]' },
    { object: null, path: 'items[2]' },
  ]);
});

test('flattenLists() tells the items of a typed list their type, as the API server leaves it out', () => {
  const items = [{ metadata: { name: 'a' } }];
  expect(flattenLists({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicyList', items })).toEqual([
    {
      object: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'a' } },
      path: 'items[0]',
    },
  ]);
});

test('flattenLists() ends, also of a list that holds itself', () => {
  const list = { apiVersion: 'v1', kind: 'List', items: [] as unknown[] };
  list.items.push(list);
  expect(flattenLists(list)).toHaveLength(1);
});
