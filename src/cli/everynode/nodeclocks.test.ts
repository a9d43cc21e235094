import { expect, test } from 'vitest';
import { NodeClocks, Reorder } from './everynode.ts';

test('a node whose clock is ahead is taken by when it told, and said once', () => {
  const notes: string[] = [];
  const clocks = new NodeClocks(text => notes.push(text));
  expect(clocks.ownMs('n1', 1_000, 1_010)).toBe(1_000);
  expect(notes).toEqual([]);
  expect(clocks.ownMs('n2', 61_010, 1_010)).toBe(1_010);
  expect(clocks.ownMs('n2', 62_000, 2_010)).toBe(2_000);
  expect(clocks.ownMs('n1', 1_990, 2_010)).toBe(1_990);
  expect(notes).toEqual([expect.stringMatching(/^the clock of node n2 is ahead of this machine's by 60 s/)]);
});

test('a clock that is behind, and what was recorded long ago, stay as they are', () => {
  const clocks = new NodeClocks(() => expect.fail('nothing is to be said'));
  expect(clocks.ownMs('n1', 5, 3_600_000)).toBe(5);
});

test('what a node with a clock that is ahead tells has nobody else leave without waiting for earlier ones', () => {
  const clocks = new NodeClocks(() => undefined);
  const held = new Reorder<{ readonly atMs: number; readonly node: string }>({
    holdMs: 100,
    most: 9,
    mostSize: 9,
  });
  const tell = (node: string, atMs: number, cameMs: number) =>
    held.add({ node, atMs: clocks.ownMs(node, atMs, cameMs) }, cameMs, 1);
  tell('ahead', 60_000, 0);
  tell('late', 90, 95);
  expect(held.due(100).map(({ node }) => node)).toEqual(['ahead']);
  tell('early', 80, 110);
  expect(held.due(195).map(({ node }) => node)).toEqual(['early', 'late']);
});
