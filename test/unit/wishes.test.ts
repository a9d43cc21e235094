/** KEP-4410's wishes, by their numbers in test/kernel/wishes.md: each has tests that begin with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const WISHES = Array.from({ length: 16 }, (_, at) => `K${at + 1}`);
/** `test('K1 K3: …'` */
const TITLE = /\btest\(\s*['"`]((?:K\d+ )*K\d+): /g;

const files = ['src', 'bench', 'test/kernel', 'test/unit'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.ts'))
    .map(file => join(ROOT, folder, file)),
);
const named = new Set(
  files.flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(TITLE)].flatMap(([, numbers]) => numbers!.split(' ')),
  ),
);

test('every wish has a test that names it, and no test names another', () => {
  expect([...named].sort()).toEqual(WISHES.toSorted());
});

test('every wish stands in test/kernel/wishes.md', () => {
  const text = readFileSync(join(ROOT, 'test/kernel/wishes.md'), 'utf8');
  expect([...text.matchAll(/^\| (K\d+) \|/gm)].map(([, number]) => number)).toEqual(WISHES);
});
