import { expect, test } from 'vitest';
import { MultiMap } from './multimap.ts';

const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

test('MultiMap holds the values of a key in the order in which they came, each once', () => {
  const map = new MultiMap<string, object>();
  for (const value of [a, a, b, a, c, b]) map.add('key', value);
  expect([...map.get('key')]).toEqual([a, b, c]);
  expect([...map.get('another')]).toEqual([]);
});

test('MultiMap deletes a value and no other, from one, two or many', () => {
  const map = new MultiMap<string, object>();
  map.delete('key', a);
  map.add('key', a);
  map.delete('key', b);
  expect([...map.get('key')]).toEqual([a]);
  map.add('key', b);
  map.delete('key', a);
  expect([...map.get('key')]).toEqual([b]);
  map.delete('key', b);
  expect([...map.get('key')]).toEqual([]);
  map.add('key', c);
  expect([...map.get('key')]).toEqual([c]);
  expect(map.isEmpty).toBe(false);
  map.delete('key', c);
  expect(map.isEmpty).toBe(true);
});
