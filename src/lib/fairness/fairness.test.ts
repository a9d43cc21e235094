/** Each part of this folder by itself: whatever others do, nobody gets less than an equal share. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstOfEach } from './firstofeach.ts';
import { largest, largestHolding, QuotaList } from './quota.ts';
import { KeyedRates, TokenBucket } from './rates.ts';

const KEYS = ['a', 'b', 'c', 'd'] as const;
const key = fc.constantFrom(...KEYS);

test('KeyedRates: a key has what it would have alone', () => {
  const step = fc.record({ key, tokens: fc.nat(5), afterMs: fc.nat(2_000) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), steps => {
      const rate = { burst: 4, perSecond: 2 };
      const rates = new KeyedRates(rate, KEYS.length);
      const alone = new Map(KEYS.map(each => [each, new TokenBucket(rate)]));
      let nowMs = 0;
      for (const { key, tokens, afterMs } of steps) {
        nowMs += afterMs;
        rates.take(key, nowMs, tokens);
        alone.get(key)!.take(nowMs, tokens);
        for (const each of KEYS) expect(rates.level(each, nowMs)).toBeCloseTo(alone.get(each)!.level(nowMs));
      }
    }),
  );
});

test('KeyedRates: asking about another key forgets none, and a key whose bucket is full is forgotten', () => {
  const rates = new KeyedRates({ burst: 4, perSecond: 2 }, 2);
  rates.take('a', 0, 4);
  for (const other of ['b', 'c', 'd']) expect(rates.level(other, 0)).toBe(4);
  expect([rates.level('a', 0), rates.size]).toEqual([0, 1]);
  rates.forgetFullBuckets(1_000);
  expect([rates.level('a', 1_000), rates.size]).toEqual([2, 1]);
  rates.forgetFullBuckets(2_000);
  expect(rates.size).toBe(0);
});

test('QuotaList: a group with no more than an equal share loses nothing, and others lose their oldest item', () => {
  const most = 12;
  const item = fc.record({ group: key, source: fc.constantFrom('x', 'y') });
  fc.assert(
    fc.property(fc.array(item, { minLength: 20, maxLength: 80 }), items => {
      const list = new QuotaList<number>(most);
      const own = new Map<string, number[]>();
      for (const [number, origin] of items.entries()) {
        const its = [...(own.get(origin.group) ?? []), number];
        own.set(origin.group, its);
        const gone = list.add(number, origin);
        if (gone === undefined) continue;
        const [loser, had] = [...own].find(([, numbers]) => numbers.includes(gone))!;
        expect(had.length).toBeGreaterThan(most / own.size);
        expect(had.length).toBe(Math.max(...[...own.values()].map(({ length }) => length)));
        own.set(
          loser,
          had.filter(each => each !== gone),
        );
        if (had.length === 1) own.delete(loser);
      }
      expect([...list.all()].sort((a, b) => a - b)).toEqual([...own.values()].flat().sort((a, b) => a - b));
      expect([...list.all()].length).toBe(Math.min(most, items.length));
    }),
  );
});

test('firstOfEach(): each group has an equal share or all that it wants, its first ones', () => {
  const groups = fc.array(fc.array(fc.nat(), { maxLength: 9 }), { maxLength: 5 });
  fc.assert(
    fc.property(groups, fc.nat(20), (each, most) => {
      const named = each.map((its, group) => its.map((_, place) => ({ group, place })));
      const chosen = firstOfEach(named, most);
      const wanted = named.flat().length;
      expect(chosen.length).toBe(Math.min(most, wanted));
      for (const [group, its] of named.entries()) {
        const got = chosen.filter(one => one.group === group).map(({ place }) => place);
        expect(got).toEqual(its.slice(0, got.length).map(({ place }) => place));
        expect(got.length).toBeGreaterThanOrEqual(Math.min(its.length, Math.floor(most / named.length)));
      }
    }),
  );
  expect(firstOfEach([['b'], ['a']], 1, each => (each === 'a' ? 0 : 1))).toEqual(['a']);
});

test('largest() is the first of those that have most, and largestHolding() of the namespace with most its pod with most', () => {
  expect(largest(['b', 'aa', 'cc'], ({ length }) => length)).toBe('aa');
  expect(largest([], () => 1)).toBeUndefined();
  const holding = (namespace: string, size: number) => ({ namespace, size });
  const many = Array.from({ length: 100 }, (_, i) => holding('evil', 300 + i));
  expect(largestHolding([holding('shop', 4_000), ...many])).toEqual(holding('evil', 399));
  expect(largestHolding([])).toBeUndefined();
});
