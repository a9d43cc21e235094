import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs, jitteredMs } from './backoff.ts';

test('backoffMs() doubles from the first wait to the longest, and stays there', () => {
  const limits = { firstMs: 100, mostMs: 5_000 };
  const waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 1e9].map(failures => backoffMs(limits, failures));
  expect(waits).toEqual([100, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});

test('jitteredMs() keeps half of the wait and draws lots for the rest', () => {
  fc.assert(
    fc.property(fc.nat(1e6), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (ms, random) => {
      const wait = jitteredMs(ms, random);
      expect(wait).toBeGreaterThanOrEqual(ms / 2);
      expect(wait).toBeLessThanOrEqual(ms);
    }),
  );
});
