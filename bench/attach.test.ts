import { expect, test } from 'vitest';
import { attachRows } from './attach.ts';

const WAYS = ['KNI', 'sluice-cni', 'ptp + host-local + portmap'].map(name => ({ name }));

test('K13: an attach by KNI and one by sluice-cni may take half as long as the CNI plugins of the same run', () => {
  const times = [
    [4, 5, 6],
    [4, 6, 8],
    [10, 10, 10],
  ];
  const rows = attachRows(WAYS, 'alone', times, 50);
  expect(rows.map(({ value, floor, ratio, budget, ok }) => [value, floor, ratio, budget, ok])).toEqual([
    [5, 10, 0.5, 0.5, true],
    [6, 10, 0.6, 0.5, false],
  ]);
  expect(rows[0]!.name).toBe('attach by KNI, alone, p50, beside ptp + host-local + portmap');
});

test('where there are no plugins to compare with, the time itself is judged', () => {
  const [row] = attachRows(
    WAYS.slice(0, 2),
    'alone',
    [
      [5, 7],
      [6, 8],
    ],
    99,
  );
  expect(row).toMatchObject({ value: 7, budget: 100, ok: true });
  expect(row).not.toHaveProperty('floor');
});
