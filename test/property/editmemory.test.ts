/** A page stays open for hours: what was typed and taken back must leave nothing behind in the edit model. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runs } from '../support/seed.ts';

const PROGRAM = fileURLToPath(new URL('../support/questions/editmemory.ts', import.meta.url));
const EDITS = runs(10_000, 2_000);

test('after thousands of edits the edit model has as many objects as before, within a tenth', () => {
  const { before, after, changes } = JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', PROGRAM, String(EDITS)], { encoding: 'utf8' }),
  );
  expect(before).toBeGreaterThan(100);
  expect(after, `${before} before`).toBeLessThan(before * 1.1);
  expect(changes).toBe(0);
});
