import fc from 'fast-check';
import { expect, test } from 'vitest';
import { thousands } from './thousands.ts';

test('thousands() says a count as English does', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), count => {
      expect(thousands(count)).toBe(count.toLocaleString('en'));
    }),
  );
});
