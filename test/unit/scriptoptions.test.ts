/** What people type beside what there is: an answer at once, and nothing built, planted or removed. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const MUTANTS = [process.execPath, 'test/mutants/main.ts'];

function run(...[program = '', ...words]: string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

test('scripts/demo refuses an option that there is not before it installs or builds anything', () => {
  expect(run('bash', 'scripts/demo', '--bogus')).toEqual({
    status: 1,
    stdout: '',
    stderr: 'demo: there is no option --bogus (scripts/demo --help says which there are)\n',
  });
});

test('npm run mutants says what its options are, and plants nothing for one that there is not', () => {
  expect(run(...MUTANTS, '--help')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^npm run mutants/),
  });
  const { status, stdout, stderr } = run(...MUTANTS, '--bogus');
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^Unknown option '--bogus'/);
  expect(stderr).not.toContain('    at ');
});
