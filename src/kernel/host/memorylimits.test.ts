import { expect, test } from 'vitest';
import { memoryLimits } from './memory.ts';

test('a limit of the cgroup that no machine can have is none', () => {
  expect([memoryLimits(0), memoryLimits(2 ** 64)].map(({ limit }) => limit)).toEqual([undefined, undefined]);
  expect(memoryLimits(512 * 2 ** 20).limit).toBe(512 * 2 ** 20);
  expect(memoryLimits().heapLimit).toBeGreaterThan(0);
});
