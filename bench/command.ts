/** `npm run bench`: what things cost on this machine, beside what they may cost and a floor of the same run. */
import { spawnSync } from 'node:child_process';
import { CommandError } from '../src/terminal/commanderror.ts';
import { writeJsonLines, writeLines } from '../src/terminal/output.ts';
import { recordRun } from './figures.ts';
import type { BenchRow } from './row.ts';
import { choose, PROGRAMS, type Program, SUITES } from './suites.ts';
import { measurements, tableLines } from './table.ts';

export interface BenchOptions {
  readonly output: 'text' | 'json';
  readonly json?: boolean;
  readonly record?: boolean;
}

/** Exit code 1 where a budget is missed, or nothing could be measured. */
export async function benchCommand(words: readonly string[], options: BenchOptions): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new CommandError('the benchmarks put rules into network namespaces of their own: run them as root');
  const names = SUITES.map(({ name }) => name).join(', ');
  const chosen = choose(words);
  if (chosen === undefined)
    throw new CommandError(
      `no suite is called ${words.join(' or ')}; suites: ${names}; more words pick rows of them`,
    );
  const { suites, isWanted, isPartWanted } = chosen;
  const rows: BenchRow[] = [];
  for (const suite of suites) rows.push(...(await runSuite(suite, isPartWanted)).filter(isWanted));
  if (rows.length === 0)
    throw new CommandError(
      `nothing was measured: no row of ${suites.map(({ name }) => name)} has such words`,
    );
  if (options.record) recordRun(words, rows);
  if (options.output === 'json' || options.json) writeJsonLines(measurements(rows));
  else writeLines(tableLines(rows));
  if (rows.some(({ ok }) => !ok)) process.exitCode = 1;
}

async function runSuite(
  { name, what, needs = [], load }: (typeof SUITES)[number],
  isPartWanted: (part: string) => boolean,
): Promise<BenchRow[]> {
  const missing = needs.find(program => !isInstalled(program));
  if (missing !== undefined) {
    process.stderr.write(
      `${name}: not measured: there is no ${missing} here; install ${PROGRAMS[missing]}\n`,
    );
    return [];
  }
  const startMs = performance.now();
  process.stderr.write(`${name}: ${what} …`);
  const stopDots = showLife();
  const rows = await (await load())(isPartWanted).finally(stopDots);
  process.stderr.write(` ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`);
  return rows;
}

const DOT_MS = 5000;

/** A dot now and then, for as long as it takes. */
function showLife(): () => void {
  const timer = setInterval(() => process.stderr.write('.'), DOT_MS);
  return () => clearInterval(timer);
}

function isInstalled(program: Program): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}
