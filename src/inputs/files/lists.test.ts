import { expect, test } from 'vitest';
import { flattenLists } from './lists.ts';
import { readAllDocuments } from './manifest.ts';

const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } };

test('flattenLists() gives any other object back as it is', () => {
  for (const object of [
    POD,
    null,
    7,
    [POD],
    { kind: 'List' },
    { kind: 'List', items: null },
    { kind: 'BlockList', items: 'none' },
  ])
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

test('flattenLists() refuses a list that holds itself, however often', () => {
  const list = { apiVersion: 'v1', kind: 'List', items: [] as unknown[] };
  for (let n = 0; n < 30; n++) list.items.push(list);
  expect(() => flattenLists(list)).toThrow('items[0] is the list that it is in');
});

test('flattenLists() refuses lists that are nested so deeply that their objects would not be read', () => {
  const nested = (depth: number): unknown =>
    depth === 0 ? POD : { apiVersion: 'v1', kind: 'List', items: [nested(depth - 1)] };
  expect(flattenLists(nested(8))).toMatchObject([{ object: POD }]);
  expect(() => flattenLists(nested(9))).toThrow('is a list in 8 lists, and that is more than is read');
});

test('flattenLists() refuses a List whose items are a map, as by a missing dash, or a value', () => {
  for (const items of [POD, 5, 'pods', true])
    expect(() => flattenLists({ apiVersion: 'v1', kind: 'List', items })).toThrow('items is not a list');
});

test('such a list is a problem of its file, and its other documents are read', () => {
  const yaml = `${JSON.stringify(POD)}\n--- &a\napiVersion: v1\nkind: List\nitems: [${Array(30).fill('*a').join(', ')}]\n`;
  const { objects, problems } = readAllDocuments(yaml, 'a.yaml');
  expect(objects).toHaveLength(1);
  expect(problems).toMatchObject([
    { file: 'a.yaml', severity: 'error', message: 'items[0] is the list that it is in' },
  ]);
});
