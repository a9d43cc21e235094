import { expect, test } from 'vitest';
import { TokenBucket } from './tokenbucket.ts';

const RATE = { burst: 4, perSecond: 2 };

test('a bucket is full at first, whatever the clock says, and never saves up more', () => {
  const bucket = new TokenBucket(RATE);
  expect([bucket.level(1.8e12), bucket.level(1.9e12)]).toEqual([4, 4]);
});

test('what was taken comes back at its rate, and a debt before anything', () => {
  const bucket = new TokenBucket(RATE);
  bucket.take(0, 7);
  expect([bucket.level(0), bucket.level(500), bucket.level(2_000), bucket.level(9_000)]).toEqual([
    -3, -2, 1, 4,
  ]);
});

test('a clock that goes back adds nothing and takes nothing, and what follows counts from there', () => {
  const bucket = new TokenBucket(RATE);
  bucket.take(3_600_000, 4);
  expect([bucket.level(0), bucket.level(1_000)]).toEqual([0, 2]);
});
