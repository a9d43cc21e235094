/** A page stays open for hours: what was typed and taken back must leave nothing behind in the edit model. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../support/questions/editmemory.ts', import.meta.url));

test('after ten thousand edits the edit model has as many objects as before, within a tenth', () => {
  const { before, after, changes } = JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', PROGRAM], { encoding: 'utf8' }),
  );
  expect(before).toBeGreaterThan(100);
  expect(after, `${before} before`).toBeLessThan(before * 1.1);
  expect(changes).toBe(0);
});
