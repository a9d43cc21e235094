import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ForeignWriters } from './foreignwriters.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

let generation = 1;
const quietFor = (ms: number) => new ForeignWriters(ms, () => generation);

test('it is not quiet before we have listened for long enough', () => {
  const quiet = quietFor(1000);
  expect(quiet.isQuiet()).toBe(false);
  vi.advanceTimersByTime(999);
  expect(quiet.isQuiet()).toBe(false);
  vi.advanceTimersByTime(1001);
  expect(quiet.isQuiet()).toBe(true);
});

test('our own commits do not disturb the quiet', () => {
  const quiet = quietFor(1000);
  quiet.look();
  for (let i = 0; i < 30; i++) {
    vi.advanceTimersByTime(50);
    quiet.isQuiet();
    generation++;
    quiet.made(generation);
  }
  expect(quiet.isQuiet()).toBe(true);
});

test('a generation that we did not make ends the quiet, even if nobody looked for long', () => {
  const quiet = quietFor(1000);
  quiet.look();
  vi.advanceTimersByTime(5000);
  expect(quiet.isQuiet()).toBe(true);
  generation++;
  vi.advanceTimersByTime(101); // older than FRESH_MS, so it looks again
  expect(quiet.isQuiet()).toBe(false);
  vi.advanceTimersByTime(999);
  expect(quiet.isQuiet()).toBe(false);
  vi.advanceTimersByTime(1);
  expect(quiet.isQuiet()).toBe(true);
});
