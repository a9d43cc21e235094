/**
 * `npm run mutants [-- --page FILE] [WORD…]`: plants one fault at a time into a copy of the tree and runs the test that
 * has to notice, as many at once as there are cores. Fails where one goes unnoticed, and, before any is planted, where
 * the text that one changes is not in one place of src. Tests have the sizes that `scripts/test` has. Words pick faults
 * by a part of their name, their file or their test; `--page` writes a page that lists each with the test that noticed;
 * `--trust` leaves out to run the tests without a fault first.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.ts';
import { type Outcome, pageOf } from './page.ts';
import { type Place, Places } from './places.ts';
import { copyTree, type Tree } from './tree.ts';

const ROOT = join(import.meta.dirname, '../..');
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
  try {
    if (!options.trust) await inTrees(trees, [...new Set(chosen.map(({ test }) => test))], checkHealthy);
    return await inTrees(trees, chosen, plant);
  } finally {
    for (const tree of trees) tree.end();
  }
}

/** One that proves nothing counts as one that was not noticed, and the others go on. */
async function plant(place: Place, tree: Tree): Promise<Outcome> {
  const began = performance.now();
  const caughtBy = await tree.plant(place).catch((error: Error) => void console.log(error.message));
  const took = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
  console.log(`${caughtBy === undefined ? 'SURVIVED' : 'caught  '} ${took} s  ${place.name}`);
  return { place, caughtBy };
}

/** Does the work for each item, in the tree that is next free. */
async function inTrees<T, R>(
  trees: readonly Tree[],
  items: readonly T[],
  work: (item: T, tree: Tree) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const workIn = async (tree: Tree) => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!, tree);
  };
  await Promise.all(trees.map(workIn));
  return results;
}

/** A test that fails without a fault would seem to catch every one. */
async function checkHealthy(test: string, tree: Tree): Promise<void> {
  console.log(`healthy? ${test}`);
  const failed = await tree.firstFailure(test);
  if (failed !== undefined) throw new Error(`${test} fails without any fault planted: ${failed}`);
}
