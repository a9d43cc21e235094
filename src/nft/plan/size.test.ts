import { expect, it } from 'vitest';
import { roomFor } from './size.ts';

it.each([
  [0, 256],
  [128, 256],
  [129, 512],
  [256, 512],
  [100_000, 262_144],
])('roomFor(%i) is %i: a power of two, and at least twice as many', (count, room) => {
  expect(roomFor(count)).toBe(room);
});
