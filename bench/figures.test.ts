import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Figures, PAGE, pageOf, readFigures } from './figures.ts';
import { absolute } from './row.ts';
import { choose } from './suites.ts';

const ROOT = join(import.meta.dirname, '..');
const figures = readFigures();

// After an edit of figures.yaml: vitest run --project unit -u bench/figures.test.ts
test('docs/performance.md is what pageOf() makes of figures.yaml', async () => {
  await expect(pageOf(figures)).toMatchFileSnapshot(PAGE);
});

test('a row has as many cells as its table has columns', () => {
  const tables = figures.sections.flatMap(({ tables }) => tables);
  expect(tables.length).toBeGreaterThan(20);
  for (const { head, rows } of tables) for (const row of rows) expect(row).toHaveLength(head.length);
});

test('every command that prints figures is there', () => {
  const commands = figures.sections.flatMap(({ commands }) => commands);
  const unknown = commands.filter(command => {
    const words = command.replace(/^time /, '').split(' ');
    const suite = /^npm run bench -- (.*)/.exec(command)?.[1];
    return suite === undefined
      ? !existsSync(join(ROOT, words[0]!))
      : choose(suite.split(' ').filter(word => word !== 'ROW')) === undefined;
  });
  expect(commands.length).toBeGreaterThan(20);
  expect(unknown).toEqual([]);
});

test('pageOf() has the rows of a run with its command, date, commit and load', () => {
  const run = { command: 'npm run bench -- commit', date: '2026-01-02', commit: 'abc', cores: 2, load: 1 };
  const rows = [absolute('commit of one element', 'µs', 20.04, 100)];
  const page = pageOf({ sections: [], runs: [{ ...run, rows }] } satisfies Figures);
  expect(page).toContain('## `npm run bench -- commit`\n\n2026-01-02, commit `abc`, 2 cores, load 1.\n');
  expect(page).toContain('| commit of one element | 20 µs | | | 100 µs | ok |\n');
});
