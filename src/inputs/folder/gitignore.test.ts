import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { isIgnored, parseIgnores } from './gitignore.ts';

test.each<[line: string, path: string, isFolder: boolean, expected: boolean | undefined]>([
  ['build', 'build', true, true],
  ['build', 'a/build', false, true],
  ['build/', 'build', true, true],
  ['build/', 'build', false, undefined],
  ['/build', 'a/build', true, undefined],
  ['a/build', 'b/a/build', true, undefined],
  ['**/build', 'b/a/build', true, true],
  ['a/**/b', 'a/b', false, true],
  ['a/**/b', 'a/x/y/b', false, true],
  ['a/**', 'a', true, undefined],
  ['a/**', 'a/b/c', false, true],
  ['*.yaml', 'a/b.yaml', false, true],
  ['a*c*e', 'abcde', false, true],
  ['a*c*e', 'abcdef', false, undefined],
  ['?.yaml', 'a.yaml', false, true],
  ['[a-c].yaml', 'b.yaml', false, true],
  ['[!a-c].yaml', 'b.yaml', false, undefined],
  ['[]]', ']', false, true],
  ['\\!a', '!a', false, true],
  ['\\#a', '#a', false, true],
  ['#a', '#a', false, undefined],
  ['a  ', 'a', false, true],
  ['a\\ ', 'a ', false, true],
  ['*\n!a', 'a', false, false],
  ['!a\n*', 'a', false, true],
  ['a\r', 'a', false, true],
  ['', 'a', false, undefined],
  ['/', 'a', true, undefined],
])('the lines %j of %j', (lines, path, isFolder, expected) => {
  expect(isIgnored(parseIgnores(lines), path, isFolder)).toBe(expected);
});

test('a pattern of many stars takes no time to speak of, and lines beyond the limit ignore nothing', () => {
  expect(isIgnored(parseIgnores(`${'*a'.repeat(200)}b`), 'a'.repeat(255), false)).toBeUndefined();
  expect(isIgnored(parseIgnores(`${'**/'.repeat(200)}b`), 'a/'.repeat(200), true)).toBeUndefined();
  expect(isIgnored(parseIgnores(`${'a\n'.repeat(2_000)}b`), 'b', false)).toBeUndefined();
});

test('git agrees', context => {
  if (spawnSync('git', ['--version']).status !== 0) context.skip('there is no git here');
  const root = mkdtempSync(join(tmpdir(), 'sluice-ignore-'));
  try {
    execFileSync('git', ['init', '-q', root]);
    const name = fc.constantFrom('a', 'b', 'ab', 'ba', 'aab', 'a.b', '!a', 'c');
    const glob = fc.constantFrom(
      'a',
      'b',
      '*',
      'a*',
      '*b',
      '**',
      '?',
      '[ab]',
      '[!a]*',
      '*a*b',
      '\\!a',
      '[a-b]?',
      'a\\b',
      '***',
    );
    const path = (part: fc.Arbitrary<string>) =>
      fc.array(part, { minLength: 1, maxLength: 3 }).map(parts => parts.join('/'));
    const line = fc.tuple(
      fc.constantFrom('', '', '!', '/', '!/'),
      path(glob),
      fc.constantFrom('', '', '/', ' ', '\\ '),
    );
    const lines = fc.array(
      line.map(parts => parts.join('')),
      { minLength: 1, maxLength: 4 },
    );
    const cases = fc.sample(
      fc.tuple(lines, fc.uniqueArray(path(name), { minLength: 5, maxLength: 20 })),
      runs(500, 60),
    );
    for (const [patterns, paths] of cases) {
      writeFileSync(join(root, '.gitignore'), patterns.join('\n'));
      const ours = paths.filter(each => isLeftOut(parseIgnores(patterns.join('\n')), each));
      expect(ours.toSorted(), patterns.join('\n')).toEqual(ignoredByGit(root, paths).toSorted());
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** What is in an ignored folder is never looked at. */
function isLeftOut(ignores: ReturnType<typeof parseIgnores>, path: string): boolean {
  const names = path.split('/');
  return names.some(
    (_, i) => isIgnored(ignores, names.slice(0, i + 1).join('/'), i < names.length - 1) === true,
  );
}

function ignoredByGit(root: string, paths: readonly string[]): string[] {
  const words = ['-C', root, 'check-ignore', '--no-index', '-z', '--stdin'];
  const { stdout } = spawnSync('git', words, {
    encoding: 'utf8',
    input: paths.map(each => `${each}\0`).join(''),
  });
  return stdout.split('\0').filter(each => each !== '');
}
