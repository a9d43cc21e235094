import { expect, test } from 'vitest';
import { SourceRates } from './keyedrates.ts';

const EACH = { burst: 2, perSecond: 1 };
const ALL = { burst: 5, perSecond: 2 };

/** How many of so many in a row are within the rates. */
const taken = (rates: SourceRates, source: string, count: number, nowMs: number) =>
  Array.from({ length: count }, () => rates.take(source, nowMs)).filter(Boolean).length;

test('a source has its own rate, and what is beyond it takes nothing of others', () => {
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
