import { expect, test, vi } from 'vitest';
import { RunningTotals } from './denials.ts';

test('totals only rise: rules that are made anew count from zero, and what cannot be read has not changed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const reads: (readonly number[] | Error)[] = [[100, 7], [130, 9], [5, 1], new Error('no'), [6, 1], []];
  const totals = new RunningTotals(async () => {
    const next = reads.shift()!;
    if (next instanceof Error) throw next;
    return next;
  });
  const seen: (readonly number[])[] = [];
  for (let i = 0; i < 6; i++) {
    seen.push(await totals.read());
    vi.advanceTimersByTime(1_000);
  }
  vi.useRealTimers();
  expect(seen).toEqual([
    [0, 0],
    [30, 2],
    [35, 3],
    [35, 3],
    [36, 3],
    [36, 3],
  ]);
});
