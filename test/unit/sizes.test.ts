/** Files and functions that can be read at once, and few threads between files; commands write by one door. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileSizes, functionSizes, importsPer100Lines, percentile } from '../../scripts/sizes.ts';
import { files, SRC } from '../support/importgraph.ts';

const MOST_LINES = 400;
const MOST_LINES_OF_FUNCTIONS = 20;
/**
 * To 100 lines of ours, whatever the number of files is: files that belong together and become one lower it. The aim is
 * 3.5: lower this as the code comes nearer to it, and never raise it.
 */
const MOST_IMPORTS = 5.6;

test('no file of src has more than 400 lines', () => {
  expect(fileSizes.length).toBe(files.length);
  expect(fileSizes.filter(({ lines }) => lines > MOST_LINES)).toEqual([]);
});

test('no file of the page has more either', () => {
  const long = globSync('web/**/*.{ts,tsx,css}', { cwd: join(SRC, '..') }).filter(
    file => readFileSync(join(SRC, '..', file), 'utf8').split('\n').length - 1 > MOST_LINES,
  );
  expect(long).toEqual([]);
});

test('of 100 functions 95 have at most 20 lines', () => {
  const functions = functionSizes();
  expect(functions.length).toBeGreaterThan(files.length);
  expect(percentile(functions, 0.95)).toBeLessThanOrEqual(MOST_LINES_OF_FUNCTIONS);
});

test('a file imports few others of ours', () => {
  console.log(`${importsPer100Lines.toFixed(2)} imports of our own files to 100 lines`);
  expect(importsPer100Lines).toBeLessThanOrEqual(MOST_IMPORTS);
  expect(importsPer100Lines).toBeGreaterThan(1);
});

/** The launcher before its libraries are there, and a process that writes JSON. */
const WRITE_THEMSELVES = ['cli/launch.ts', 'terminal/output.ts'];

test('whatever reaches a terminal passes terminal/output, which escapes what a cluster wrote', () => {
  const writers = files.filter(file =>
    /\bprocess\.std(?:out|err)\.write\(|\bconsole\./.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(writers.sort()).toEqual(WRITE_THEMSELVES);
});
