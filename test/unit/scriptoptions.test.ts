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

test.each([
  ['demo --bogus', 'there is no option --bogus'],
  ['test --bogus', 'there is no option --bogus'],
  ['test unti', 'there is no project "unti"'],
  ['test unit kernel', 'one project, or none: kernel is too much'],
  ['suites --bogus', 'there is no suite "--bogus"'],
  ['suites own netplo', 'there is no suite "netplo"'],
  ['kind-up --bogus', 'there is no option --bogus'],
  ['bench-cluster --bogus', 'there is no option --bogus'],
  ['seccomp --bogus', 'there is no option --bogus'],
  ['vm lits', 'there is no command "lits"'],
])('scripts/%s is refused with what there is, before anything is installed or built', (line, what) => {
  const [script = '', ...words] = line.split(' ');
  const { status, stdout, stderr } = run('bash', `scripts/${script}`, ...words);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr.startsWith(`${script}: ${what}`)).toBe(true);
  expect(stderr).toContain(`\n  scripts/${script} `);
  expect(stderr).not.toContain('== ');
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
