import { expect, test } from 'vitest';
import { SourceRates, TokenBucket } from './rates.ts';

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

const EACH = { burst: 2, perSecond: 1 };
const ALL = { burst: 5, perSecond: 2 };

/** How many of this many attempts in a row are within the rates. */
const taken = (rates: SourceRates, source: string, count: number, nowMs: number) =>
  Array.from({ length: count }, () => rates.take(source, nowMs)).filter(Boolean).length;

test('a source has its own rate, and exceeding it takes nothing from others', () => {
  const rates = new SourceRates(EACH, ALL, 8);
  expect([taken(rates, 'a', 100, 0), taken(rates, 'b', 100, 0), taken(rates, 'c', 100, 0)]).toEqual([
    2, 2, 1,
  ]);
  expect([taken(rates, 'a', 100, 1_000), taken(rates, 'b', 100, 1_000)]).toEqual([1, 1]);
});

test('of more sources than are remembered, the one that came longest ago is forgotten', () => {
  const rates = new SourceRates(EACH, { burst: 100, perSecond: 1 }, 2);
  for (const source of ['a', 'b', 'a', 'c']) rates.take(source, 0);
  expect(taken(rates, 'a', 5, 0)).toBe(0);
  expect(taken(rates, 'b', 5, 0)).toBe(2);
});
