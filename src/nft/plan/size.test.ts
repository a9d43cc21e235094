import { describe, expect, test } from 'vitest';
import { roomFor } from './size.ts';

const NAMES = Array.from({ length: 240 }, (_, n) => `peers-${n.toString(36)}-web`);

describe.each([0, 128, 129, 3000])('roomFor() of %i', count => {
  const least = Math.max(256, 2 * count);

  test('is at least twice as many, and not three times as many', () => {
    for (const name of NAMES) {
      const room = roomFor(name, count);
      expect(Number.isInteger(room)).toBe(true);
      expect(room).toBeGreaterThanOrEqual(least);
      expect(room).toBeLessThan(1.5 * least);
      expect(roomFor(name, count)).toBe(room);
    }
  });

  test('is another for other names: of hundreds that grow alike few outgrow it at once', () => {
    const [part, most] = [least / 16, NAMES.length / 4];
    const crossing = (from: number) =>
      NAMES.map(name => roomFor(name, count)).filter(room => room >= from && room < from + part).length;
    for (let from = least; from < 1.5 * least; from += part) expect(crossing(from)).toBeLessThanOrEqual(most);
  });
});
