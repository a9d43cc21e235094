import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTANTS } from '../mutants/mutants.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every planted fault has its line, once, and the test that has to notice', () => {
  expect(MUTANTS.length).toBeGreaterThan(100);
  const stale = MUTANTS.filter(
    ({ file, find, replace }) =>
      readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2 || find === replace,
  );
  expect(stale.map(({ name, file }) => `${file}: ${name}`)).toEqual([]);
  for (const { test } of MUTANTS) expect(readFileSync(join(ROOT, test), 'utf8')).toContain('test');
});
