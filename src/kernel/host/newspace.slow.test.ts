import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { NEW_SPACE_OPTION } from './memory.ts';

const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { giveMemoryBack, keepMemorySmall, sparingly } from '${import.meta.dirname}/memory.ts';
  const newSpace = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  /** Allocates like a burst of events: most objects live until its end. */
  const burst = () => Array.from({ length: 1_000_000 }, (_, at) => ({ at })).length;
  /** The least but one: on a busy machine it has pages for a while that were cleared and are not given back yet. */
  const afterBursts = () =>
    Array.from({ length: 7 }, () => (burst(), newSpace())).sort((a, b) => a - b)[1];
  keepMemorySmall();
  const starting = afterBursts();
  giveMemoryBack();
  const sparing = await sparingly(async () => afterBursts());
  console.log(JSON.stringify({ starting, sparing, running: afterBursts() }));
`;

function spaces(options: string): { starting: number; sparing: number; running: number } {
  const env = { ...process.env, NODE_OPTIONS: options };
  const node = ['--input-type=module-typescript', '-e', PROGRAM];
  return JSON.parse(execFileSync(process.execPath, node, { encoding: 'utf8', env }));
}

test('where it is bounded, the space for new objects grows in a burst once rules are in force, and to its bound, but not while work is done sparingly', () => {
  const { starting, sparing, running } = spaces(`${NEW_SPACE_OPTION}=4`);
  expect(running).toBeGreaterThan(1.5 * starting);
  expect(running).toBeGreaterThan(3 * sparing);
});

test('where nobody bounds it, it stays as it was', () => {
  const { starting, running } = spaces('');
  expect(running).toBeLessThan(4 * starting); // 64 times as much, if it grew as where it is bounded
  expect(starting).toBeLessThan(4 * running);
});
