/** docs/security.md has a row for every weakness that was found, and every test that it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const ROWS = 30;

const rows = [...PAGE.matchAll(/^\| ((\d+)(?:[a-z])?) \|.*\| ([^|]*) \|$/gm)].map(
  ([, name, number, last]) => ({
    name: name!,
    number: Number(number),
    tests: [...last!.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path]) => path!),
  }),
);

test('every row of the list has a line', () => {
  const numbers = new Set(rows.map(({ number }) => number));
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, at) => at + 1));
});

test('a row is named once, and where the page names one it is there', () => {
  const names = rows.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  const meant = [...PAGE.matchAll(/\brows? (\d+[a-z]?)(?: to (\d+[a-z]?))?((?:, \d+[a-z]?)*)/g)].flatMap(
    ([, first, last, others]) => [first, last, ...others!.split(', ')].filter(name => !!name),
  );
  expect(meant.length).toBeGreaterThan(5);
  expect(meant.filter(name => !names.includes(name!))).toEqual([]);
});

test('every line names a test, and every test that it names is there and tests', () => {
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(rows.flatMap(({ tests }) => tests.filter(path => !isTest(path)))).toEqual([]);
});

/** A scenario, a script that prints a line for each promise, or a file of tests. */
function isTest(path: string): boolean {
  if (!existsSync(join(ROOT, path))) return false;
  if (path.endsWith('.yaml')) return true;
  const text = readFileSync(join(ROOT, path), 'utf8');
  return path.endsWith('.sh') ? text.includes('"not ok ') : /\b(?:test|describe)\b[.(]/.test(text);
}

test('every test file that the page names in passing is there', () => {
  const named = [...PAGE.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path]) => path!);
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([]);
});
