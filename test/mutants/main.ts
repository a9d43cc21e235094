/**
 * `npm run mutants [-- --write] [WORD…]`: plants one fault at a time into a copy of the tree and runs the test that has
 * to notice. Fails where one goes unnoticed, and where the line that it changes is not there any more. Words pick
 * faults by a part of their name or file; `--write` writes their rows of docs/planted-faults.md; `--trust` leaves out
 * to run the tests without a fault first.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { documentOf } from './document.ts';
import { MUTANTS, type Mutant } from './mutants.ts';

/** What became of a fault. */
export interface Outcome {
  readonly mutant: Mutant;
  /** The first test that failed; undefined where none did. */
  readonly caughtBy: string | undefined;
}

const ROOT = join(import.meta.dirname, '../..');
const COPIED = [
  'src',
  'test',
  'examples',
  'docs/schema',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
const LONGEST_MS = 600_000;
const USAGE = `npm run mutants -- [--write] [--trust] [WORD…]
  WORD      plants the faults alone whose name or file has one of the words
  --write   writes their rows of docs/planted-faults.md
  --trust   leaves out to run the tests without a fault first`;
const PAGE = join(ROOT, 'docs/planted-faults.md');

// An option that there is not ends here, before hours of tests.
const { words, options } = asked();
if (options.help) {
  console.log(USAGE);
  process.exit();
}
const chosen = MUTANTS.filter(({ name, file }) =>
  words.length === 0 ? true : words.some(word => name.includes(word) || file.includes(word)),
);
const folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
try {
  const outcomes = plantAll(folder);
  if (options.write) writeFileSync(PAGE, pageOf(outcomes));
  const survivors = outcomes.filter(({ caughtBy }) => caughtBy === undefined);
  console.log(`${outcomes.length - survivors.length} of ${outcomes.length} planted faults were caught`);
  if (survivors.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

function asked() {
  const flag = { type: 'boolean' } as const;
  const known = { write: flag, trust: flag, help: { ...flag, short: 'h' } } as const;
  try {
    const { positionals: words, values: options } = parseArgs({ options: known, allowPositionals: true });
    return { words, options };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function pageOf(outcomes: readonly Outcome[]): string {
  return documentOf(
    outcomes,
    MUTANTS.map(({ name }) => name),
    readFileSync(PAGE, 'utf8'),
  );
}

function plantAll(folder: string): Outcome[] {
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  if (!options.trust) checkHealthy(folder);
  return chosen.map(mutant => {
    const caughtBy = plant(mutant, folder);
    console.log(`${caughtBy === undefined ? 'SURVIVED' : 'caught  '} ${mutant.name}`);
    return { mutant, caughtBy };
  });
}

/** A test that fails without a fault would seem to catch every one. */
function checkHealthy(folder: string): void {
  for (const test of new Set(chosen.map(({ test }) => test))) {
    console.log(`healthy? ${test}`);
    const failed = firstFailure(test, folder, LONGEST_MS);
    if (failed !== undefined) throw new Error(`${test} fails without any fault planted: ${failed}`);
  }
}

/** The name of the test that notices. */
function plant({ name, file, find, replace, test }: Mutant, folder: string): string | undefined {
  const path = join(folder, file);
  const healthy = readFileSync(path, 'utf8');
  if (healthy.split(find).length !== 2)
    throw new Error(`"${name}": ${file} must hold this line exactly once: ${find}`);
  writeFileSync(
    path,
    healthy.replace(find, () => replace),
  );
  try {
    return firstFailure(test, folder, LONGEST_MS);
  } finally {
    writeFileSync(path, healthy);
  }
}

function firstFailure(test: string, folder: string, timeout: number): string | undefined {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const project = /^test\/(kernel|property)\//.exec(test)?.[1] ?? 'unit';
  const args = [
    'run',
    '--project',
    project,
    '--bail',
    '1',
    '--reporter',
    'json',
    '--outputFile',
    report,
    test,
  ];
  const { status, error } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args],
    {
      cwd: folder,
      timeout,
      stdio: 'ignore',
    },
  );
  if (error !== undefined) throw new Error(`${test}: no answer within ${timeout / 1000} s`, { cause: error });
  return status === 0 ? undefined : failureIn(report);
}

interface Report {
  readonly testResults: readonly {
    readonly message?: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A fault that keeps a file from being loaded at all proves nothing. */
function failureIn(report: string): string {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const failed = testResults.flatMap(file => file.assertionResults).find(({ status }) => status === 'failed');
  if (failed === undefined)
    throw new Error(`no test ran: ${testResults[0]?.message ?? 'the file was not found'}`);
  return failed.fullName.trim();
}
