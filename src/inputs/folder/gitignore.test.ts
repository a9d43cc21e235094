import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { type Ignores, isIgnored, parseIgnores, Steps } from './gitignore.ts';

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
  expect(isIgnored(parseIgnores(lines), path, isFolder, new Steps())).toBe(expected);
});

test.each<[what: string, text: string, ignored: readonly string[], isCut: boolean]>([
  ['lines', `${'a\n'.repeat(2_000)}b`, ['a'], true],
  ['as many lines as are read', `${'a\n'.repeat(1_999)}b`, ['a', 'b'], false],
  ['a long line', `${'a'.repeat(1_025)}\nb`, ['b'], true],
  ['segments', `${'a/'.repeat(64)}a\nb`, ['b'], true],
  ['stars beside each other, which are one', `${'**/'.repeat(300)}a`, ['a'], false],
])('beyond the limits nothing is ignored: %s', (_, text, ignored, isCut) => {
  const ignores = parseIgnores(text);
  const paths = ['a', 'b', 'a'.repeat(1_025), `${'a/'.repeat(64)}a`];
  const found = paths.filter(path => isIgnored(ignores, path, false, new Steps()));
  const named = (path: string) => path.length < 2;
  expect([found.filter(named), ignores.isCut]).toEqual([ignored, isCut]);
});

test.each([
  ['folders', `d/${'**/x/'.repeat(31)}b\n`.repeat(2_000), `d/${'x/'.repeat(150)}y`],
  ['stars in a name', `*${'a'.repeat(120)}b\n`.repeat(2_000), 'a'.repeat(240)],
  ['sets', `*[${'b-c'.repeat(300)}]\n`.repeat(2_000), 'a'.repeat(240)],
])(
  'a listing spends a number of steps on hostile lines, and ignores nothing from there on: %s',
  (_, text, path) => {
    const ignores = parseIgnores(text);
    const steps = new Steps(100_000);
    expect(isIgnored(parseIgnores('a'), 'a', false, steps)).toBe(true);
    for (let n = 0; n < 3; n++) expect(isIgnored(ignores, path, false, steps)).toBeUndefined();
    expect(steps.areSpent).toBe(true);
    expect(isIgnored(parseIgnores('a'), 'a', false, steps)).toBeUndefined();
  },
);

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
function isLeftOut(ignores: Ignores, path: string): boolean {
  const names = path.split('/');
  return names.some(
    (_, i) => isIgnored(ignores, names.slice(0, i + 1).join('/'), i < names.length - 1, new Steps()) === true,
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
