import { expect, test } from 'vitest';
import { SUITES } from '../../bench/suites.ts';
import { BENCH_SUITES } from './node.ts';

test('the help of bench names every suite', () => {
  expect(BENCH_SUITES).toEqual(SUITES.map(({ name }) => name));
});
