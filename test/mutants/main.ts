/**
 * `npm run mutants [-- --page FILE] [WORD…]`: plants one fault at a time into a copy of the tree and runs the test that
 * has to notice, as many at once as there are cores. Fails where one goes unnoticed, and, before any is planted, where
 * the text that one changes is not in one place of src. Tests have the sizes that `scripts/test` has. Words pick faults
 * by a part of their name, their file or their test; `--page` writes a page that lists each with the test that noticed; `--trust` leaves
 * out to run the tests without a fault first.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.ts';
import { type Outcome, pageOf } from './page.ts';
import { type Place, Places } from './places.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = [
  'src',
  'web',
  'scripts',
  'bench',
  'test',
  'examples',
  'docs/schema',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
const LONGEST_MS = 600_000;
const USAGE = `npm run mutants -- [--page FILE] [--trust] [WORD…]
  WORD         plants the faults alone whose name, file or test has one of the words
  --page FILE  writes a page that lists each fault with the test that noticed
  --trust      leaves out to run the tests without a fault first`;

// An option that there is not ends here, before hours of tests.
const { words, options } = asked();
if (options.help) {
  console.log(USAGE);
  process.exit();
}
const chosen = placesOfAll().filter(
  ({ name, file, test }) =>
    words.length === 0 || words.some(word => [name, file, test].some(text => text.includes(word))),
);
if (chosen.length === 0) {
  console.error(`no fault has a name, file or test with ${words.join(' or ')}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
try {
  const outcomes = await plantAll(folder);
  if (options.page !== undefined) writeFileSync(options.page, pageOf(outcomes));
  const survivors = outcomes.filter(({ caughtBy }) => caughtBy === undefined);
  for (const { place } of survivors) console.log(`SURVIVED ${place.name} (${place.file}, ${place.test})`);
  const caught = outcomes.length - survivors.length;
  console.log(`planted faults that were caught: ${caught} passed, ${survivors.length} failed`);
  if (survivors.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

function asked() {
  const flag = { type: 'boolean' } as const;
  const known = { page: { type: 'string' }, trust: flag, help: { ...flag, short: 'h' } } as const;
  try {
    const { positionals: words, values: options } = parseArgs({ options: known, allowPositionals: true });
    return { words, options };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function placesOfAll(): Place[] {
  const places = new Places(ROOT);
  const wrong: string[] = [];
  const found = MUTANTS.flatMap(mutant => {
    try {
      return places.of(mutant);
    } catch (error) {
      wrong.push((error as Error).message);
      return [];
    }
  });
  if (wrong.length === 0) return found;
  console.error(`${wrong.join('\n')}\n${wrong.length} of ${MUTANTS.length} faults cannot be planted`);
  process.exit(1);
}

async function plantAll(folder: string): Promise<Outcome[]> {
  const trees = Array.from({ length: Math.min(availableParallelism(), chosen.length) }, (_, at) =>
    copyTree(join(folder, `${at}`)),
  );
  if (!options.trust) await inTrees(trees, [...new Set(chosen.map(({ test }) => test))], checkHealthy);
  return inTrees(trees, chosen, async (place, tree) => {
    // One that proves nothing counts as one that was not noticed, and the others go on.
    const caughtBy = await plant(place, tree).catch((error: Error) => void console.log(error.message));
    console.log(`${caughtBy === undefined ? 'SURVIVED' : 'caught  '} ${place.name}`);
    return { place, caughtBy: caughtBy ?? undefined };
  });
}

function copyTree(tree: string): string {
  for (const path of COPIED) cpSync(join(ROOT, path), join(tree, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

/** Does the work for each item, in the tree that is next free. */
async function inTrees<T, R>(
  trees: readonly string[],
  items: readonly T[],
  work: (item: T, tree: string) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const workIn = async (tree: string) => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!, tree);
  };
  await Promise.all(trees.map(workIn));
  return results;
}

/** A test that fails without a fault would seem to catch every one. */
async function checkHealthy(test: string, tree: string): Promise<void> {
  console.log(`healthy? ${test}`);
  const failed = await firstFailure(test, tree);
  if (failed !== undefined) throw new Error(`${test} fails without any fault planted: ${failed}`);
}

/** The name of the test that notices. */
async function plant({ file, faulty, test }: Place, tree: string): Promise<string | undefined> {
  const path = join(tree, file);
  const healthy = readFileSync(path, 'utf8');
  writeFileSync(path, faulty);
  try {
    return await firstFailure(test, tree);
  } finally {
    writeFileSync(path, healthy);
  }
}

async function firstFailure(test: string, tree: string): Promise<string | undefined> {
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = ['run', '--bail', '1', '--reporter', 'json', '--outputFile', report, test];
  const { SLUICE_LONG: _, SLUICE_SEED: __, ...env } = process.env;
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: tree,
    env: { ...env, SLUICE_SHRINK: '0' },
    timeout: LONGEST_MS,
    stdio: 'ignore',
  });
  const [status, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...ended) => resolve(ended));
  });
  if (signal !== null) throw new Error(`${test}: no answer within ${LONGEST_MS / 1000} s`);
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
