/** A file has one idea, and fits into one look; commands write by one door. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { files, SRC } from '../support/importgraph.ts';

const MOST_LINES = 300;

test('no file of src has more than 300 lines, and most have far fewer', () => {
  const sizes = files.map(
    file => [readFileSync(join(SRC, file), 'utf8').split('\n').length - 1, file] as const,
  );
  expect(sizes.filter(([lines]) => lines > MOST_LINES)).toEqual([]);
  const sorted = sizes.map(([lines]) => lines).sort((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(70);
});

/** Progress of benchmarks and the demo, the launcher before its libraries are there, and a process that writes JSON. */
const WRITE_THEMSELVES = [
  'cli/bench.ts',
  'cli/launch.ts',
  'demo/narrate.ts',

  'terminal/output.ts',
];

test('whatever reaches a terminal passes terminal/output, which escapes what a cluster wrote', () => {
  const writers = files.filter(file =>
    /\bprocess\.std(?:out|err)\.write\(|\bconsole\./.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(writers.filter(file => !file.startsWith('bench/') && !file.startsWith('lab/')).sort()).toEqual(
    WRITE_THEMSELVES,
  );
});
