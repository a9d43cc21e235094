import { expect, test } from 'vitest';
import { pushAll } from './pushall.ts';

test('more items are appended than a call can have as arguments', () => {
  const list = [0];
  const items = Array.from({ length: 300_000 }, (_, i) => i + 1);
  expect(() => [].push(...(items as never[]))).toThrow(RangeError);
  pushAll(list, items);
  expect([list.length, list.at(-1)]).toEqual([300_001, 300_000]);
});
