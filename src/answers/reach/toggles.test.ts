import fc from 'fast-check';
import { expect, test } from 'vitest';
import { togglesContain } from '../../../test/support/oracle/connectionsets.ts';
import {
  combine,
  DIFFERENCE,
  INTERSECTION,
  type Toggles,
  toggleRanges,
  togglesOf,
  UNION,
} from './regions.ts';

const MOST = 12;
const ranges = fc.array(
  fc.record({ first: fc.integer({ min: 0, max: MOST }), last: fc.integer({ min: 0, max: MOST }) }),
);

function members(toggles: Toggles): number[] {
  return Array.from({ length: MOST + 2 }, (_, i) => i).filter(i => togglesContain(toggles, i));
}

test('togglesOf() holds what any of its ranges holds', () => {
  fc.assert(
    fc.property(ranges, given => {
      const inAny = (i: number) => given.some(({ first, last }) => first <= i && i <= last);
      const toggles = togglesOf(given, 1);
      expect(members(toggles)).toEqual(Array.from({ length: MOST + 1 }, (_, i) => i).filter(inAny));
      expect(togglesOf(toggleRanges(toggles, 1), 1)).toEqual(toggles);
    }),
  );
});

test('combine() does to sets what its name says, and writes equal sets alike', () => {
  fc.assert(
    fc.property(ranges, ranges, (one, other) => {
      const [a, b] = [togglesOf(one, 1), togglesOf(other, 1)];
      const [inA, inB] = [new Set(members(a)), new Set(members(b))];
      for (const [keeps, expected] of [
        [UNION, [...inA, ...inB]],
        [INTERSECTION, [...inA].filter(i => inB.has(i))],
        [DIFFERENCE, [...inA].filter(i => !inB.has(i))],
      ] as const) {
        const found = combine(a, b, keeps);
        expect(new Set(members(found))).toEqual(new Set(expected));
        expect(found).toEqual([...found].sort((x, y) => x - y));
        expect(new Set(found).size).toBe(found.length);
      }
    }),
  );
});

test('togglesOf() takes addresses as it takes ports', () => {
  expect(
    togglesOf(
      [
        { first: 2n ** 64n, last: 2n ** 65n },
        { first: 0n, last: 2n ** 64n - 1n },
      ],
      1n,
    ),
  ).toEqual([0n, 2n ** 65n + 1n]);
});
