import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AddressRange, addressFromInt, cidrRange, cidrText } from './address.ts';
import { cidrsOf, mergeRanges } from './ranges.ts';

const range = (family: 'ip' | 'ip6', first: bigint, last: bigint): AddressRange => ({ family, first, last });

test('cidrsOf() writes a range as the fewest networks', () => {
  const texts = (first: bigint, last: bigint) => cidrsOf(range('ip', first, last)).map(cidrText);
  expect(texts(0n, 2n ** 32n - 1n)).toEqual(['0.0.0.0/0']);
  expect(texts(0x0a000000n, 0x0a0000ffn)).toEqual(['10.0.0.0/24']);
  expect(texts(0x0a000001n, 0x0a000004n)).toEqual(['10.0.0.1/32', '10.0.0.2/31', '10.0.0.4/32']);
});

test('cidrsOf() holds what the range holds, and nothing twice', () => {
  const address = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
  fc.assert(
    fc.property(address, address, (a, b) => {
      const whole = a < b ? range('ip6', a, b) : range('ip6', b, a);
      const parts = cidrsOf(whole).map(cidrRange);
      expect(mergeRanges(parts)).toEqual([whole]);
      expect(parts.reduce((sum, { first, last }) => sum + last - first + 1n, 0n)).toBe(
        whole.last - whole.first + 1n,
      );
    }),
  );
});

test('mergeRanges() holds the same addresses, in ranges in order that do not touch', () => {
  const some = fc.record({
    family: fc.constantFrom('ip' as const, 'ip6' as const),
    first: fc.bigInt({ min: 0n, max: 40n }),
    size: fc.bigInt({ min: 0n, max: 9n }),
  });
  fc.assert(
    fc.property(fc.array(some, { maxLength: 12 }), parts => {
      const ranges = parts.map(({ family, first, size }) => range(family, first, first + size));
      const merged = mergeRanges(ranges);
      expect(new Set(addressesIn(merged))).toEqual(new Set(addressesIn(ranges)));
      for (const [at, { family, first }] of merged.entries()) {
        const before = merged[at - 1];
        if (before?.family === family) expect(before.last + 1n < first).toBe(true);
        expect(before?.family === 'ip6' && family === 'ip').toBe(false);
      }
    }),
  );
});

function addressesIn(ranges: readonly AddressRange[]): string[] {
  return ranges.flatMap(({ family, first, last }) =>
    Array.from({ length: Number(last - first) + 1 }, (_, at) => addressFromInt(family, first + BigInt(at))),
  );
}
