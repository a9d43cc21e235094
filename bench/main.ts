/**
 * `npm run bench [-- --json] [NAME…]`: the budgets of the design, each with the figure that this machine gives.
 * A name is a suite's, or a part of a row's; exit code 1 where a budget is missed.
 */
import Table from 'cli-table3';
import pc from 'picocolors';
import type { BenchRow } from './row.ts';

interface Suite {
  readonly name: string;
  readonly what: string;
  readonly load: () => Promise<() => Promise<BenchRow[]>>;
}

/** Loaded when they are run, so that none of them carries another's memory. */
const SUITES: readonly Suite[] = [
  {
    name: 'compile',
    what: 'full compile and first commit',
    load: async () => (await import('./compile.ts')).benchCompile,
  },
  {
    name: 'memory',
    what: 'memory of the agent',
    load: async () => (await import('./memory.ts')).benchMemory,
  },
  {
    name: 'events',
    what: 'from an event to the rules in force',
    load: async () => (await import('./events.ts')).benchEvents,
  },
  {
    name: 'start',
    what: 'from the start of the agent to the rules in force',
    load: async () => (await import('./start.ts')).benchStart,
  },
  {
    name: 'commit',
    what: 'a commit against the same batch sent from C',
    load: async () => (await import('./commit.ts')).benchCommit,
  },
  {
    name: 'packets',
    what: 'what rules add to a packet',
    load: async () => (await import('./packets.ts')).benchPackets,
  },
  {
    name: 'conntrack',
    what: 'live connections that a change denies',
    load: async () => (await import('./conntrack.ts')).benchConntrack,
  },
];

const words = process.argv.slice(2).filter(word => !word.startsWith('--'));
const rows = await run(words);
if (process.argv.includes('--json')) console.log(JSON.stringify(rows, null, 2));
else console.log(tableOf(rows));
if (rows.some(({ ok }) => !ok)) process.exitCode = 1;
if (rows.length === 0) {
  console.error(`Nothing was measured. Suites: ${SUITES.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 1;
}

/** Words that are no suite's name pick rows, of those suites that are named, or of all. */
async function run(words: readonly string[]): Promise<BenchRow[]> {
  const named = SUITES.filter(({ name }) => words.includes(name));
  const picks = words.filter(word => !named.some(({ name }) => name === word));
  const rows: BenchRow[] = [];
  for (const suite of named.length > 0 ? named : SUITES) rows.push(...(await runSuite(suite)));
  return rows.filter(({ name }) => picks.length === 0 || picks.some(pick => name.includes(pick)));
}

async function runSuite({ name, what, load }: Suite): Promise<BenchRow[]> {
  const startMs = performance.now();
  process.stderr.write(`${name}: ${what} …`);
  const rows = await (await load())();
  process.stderr.write(` ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`);
  return rows;
}

function tableOf(rows: readonly BenchRow[]): string {
  const table = new Table({
    head: ['', 'value', 'floor', 'ratio', 'budget', ''],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(cellsOf(row));
  return table.toString();
}

function cellsOf({ name, value, unit, floor, ratio, budget, ok }: BenchRow): string[] {
  return [
    name,
    `${figure(value)} ${unit}`,
    floor === undefined ? '' : `${figure(floor)} ${unit}`,
    ratio === undefined ? '' : `${figure(ratio)}×`,
    ratio === undefined ? `${figure(budget)} ${unit}` : `${figure(budget)}×`,
    ok ? pc.green('ok') : pc.red('missed'),
  ];
}

/** Three digits that count. */
function figure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
