import { expect, test } from 'vitest';
import { Reorder } from './everynode.ts';

const at = (atMs: number) => ({ atMs });

test('what comes within the time that things are held is in order, and what comes later comes late', () => {
  const held = new Reorder<{ atMs: number }>({ holdMs: 100, most: 10, mostSize: 100 });
  held.add(at(20), 1_000, 1);
  held.add(at(10), 1_050, 1);
  held.add(at(30), 1_060, 1);
  expect(held.due(1_099)).toEqual([]);
  expect(held.due(1_100)).toEqual([at(10), at(20)]);
  held.add(at(5), 1_110, 1);
  expect(held.due(1_160)).toEqual([at(5), at(30)]);
  expect(held.due(9_999)).toEqual([]);
});

test('at the start all is held until every node has told, or for so long', () => {
  const held = new Reorder<{ atMs: number }>({ holdMs: 100, most: 10, mostSize: 100 }, 5_000);
  held.add(at(20), 1_000, 1);
  expect(held.due(4_999)).toEqual([]);
  expect(held.due(5_000)).toEqual([at(20)]);
  const told = new Reorder<{ atMs: number }>({ holdMs: 100, most: 10, mostSize: 100 }, 5_000);
  told.add(at(20), 1_000, 1);
  told.begin(1_000);
  expect(told.due(1_100)).toEqual([at(20)]);
});

test('no more than so many are held, and none is left behind', () => {
  const held = new Reorder<{ atMs: number }>({ holdMs: 100, most: 2, mostSize: 100 }, 5_000);
  for (const each of [3, 1, 2, 4]) held.add(at(each), 1_000, 1);
  expect(held.due(1_000)).toEqual([at(1), at(2)]);
  expect(held.rest()).toEqual([at(3), at(4)]);
  expect(held.rest()).toEqual([]);
});

test('no more than so much is held, however few they are, and it counts no longer once it has gone', () => {
  const held = new Reorder<{ atMs: number }>({ holdMs: 100, most: 10, mostSize: 100 }, 5_000);
  for (const each of [3, 1, 2]) held.add(at(each), 1_000, 60);
  expect(held.due(1_000)).toEqual([at(1), at(2)]);
  held.add(at(4), 1_000, 40);
  expect(held.due(1_000)).toEqual([]);
  held.add(at(5), 1_000, 1);
  expect(held.due(1_000)).toEqual([at(3)]);
});

test('where nobody takes what is due, what comes beyond twice as much is not taken in', () => {
  const large = new Reorder<{ atMs: number }>({ holdMs: 100, most: 10, mostSize: 100 });
  expect([1, 2, 3, 4].map(each => large.add(at(each), 1_000, 60))).toEqual([true, true, true, false]);
  expect(large.rest()).toHaveLength(3);
  expect(large.add(at(5), 1_000, 60)).toBe(true);
  const many = new Reorder<{ atMs: number }>({ holdMs: 100, most: 1, mostSize: 100 });
  expect([1, 2, 3].map(each => many.add(at(each), 1_000, 1))).toEqual([true, true, false]);
});
