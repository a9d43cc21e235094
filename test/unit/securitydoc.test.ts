/** test/weaknesses.md has a row for every weakness that was found, and every test that it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const TABLE = read('test/weaknesses.md');
/** The pages that name rows of the table. */
const PAGES = ['docs/security.md', 'docs/hardening.md', 'test/weaknesses.md'].map(read);
const ROWS = 31;

const rows = [...TABLE.matchAll(/^\| ((\d+)(?:[a-z])?) \|.*\| ([^|]*) \|$/gm)].map(
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

test('a row is named once, in the order of numbers, and where a page names one it is there', () => {
  const names = rows.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(names).toEqual(names.toSorted(byNumber));
  const meant = PAGES.flatMap(rowsNamedIn);
  expect(meant.length).toBeGreaterThan(5);
  expect(meant.filter(name => !names.includes(name!))).toEqual([]);
});

function byNumber(one: string, other: string): number {
  return parseInt(one, 10) - parseInt(other, 10) || (one < other ? -1 : 1);
}

/** `row 13f`, `rows 1 to 5, 11, 20a to 20c, 29`. */
function rowsNamedIn(page: string): string[] {
  const lists = page.matchAll(/\brows? (\d+[a-z]?(?:(?:, | to |, and | and )\d+[a-z]?)*)/gi);
  return [...lists].flatMap(([, list]) => list!.match(/\d+[a-z]?/g)!);
}

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

test('every test file that a page names in passing is there', () => {
  const named = [...PAGES.join('\n').matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path]) => path!);
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([]);
});
