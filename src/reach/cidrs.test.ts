import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cidrRange, cidrText } from '../model/address.ts';
import { cidrsOf } from './cidrs.ts';
import { togglesOf } from './toggles.ts';

test('cidrsOf() writes a range as the fewest networks', () => {
  const texts = (first: bigint, last: bigint) => cidrsOf('ip', [{ first, last }]).map(cidrText);
  expect(texts(0n, 2n ** 32n - 1n)).toEqual(['0.0.0.0/0']);
  expect(texts(0x0a000000n, 0x0a0000ffn)).toEqual(['10.0.0.0/24']);
  expect(texts(0x0a000001n, 0x0a000004n)).toEqual(['10.0.0.1/32', '10.0.0.2/31', '10.0.0.4/32']);
});

test('cidrsOf() holds what the range holds, and nothing twice', () => {
  const address = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
  fc.assert(
    fc.property(address, address, (a, b) => {
      const range = a < b ? { first: a, last: b } : { first: b, last: a };
      const ranges = cidrsOf('ip6', [range]).map(cidrRange);
      expect(togglesOf(ranges, 1n)).toEqual([range.first, range.last + 1n]);
      expect(ranges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n)).toBe(
        range.last - range.first + 1n,
      );
    }),
  );
});
