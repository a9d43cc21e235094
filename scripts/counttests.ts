/**
 * Summaries of vitest's JSON reports.
 *   node scripts/counttests.ts failed REPORT           the files in which something failed, a line each
 *   node scripts/counttests.ts slowest REPORT          the 25 tests that took longest, a line each
 *   node scripts/counttests.ts total REPORT [AGAIN]    N passed, N failed; ends with 1 unless all passed, and some did
 *     --projects=unit,kernel     also fails if one of these passed no test, or if a test was skipped without a reason
 * A test that was run once more, by itself, counts by its second result, and is listed as unsteady with its
 * first error.
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    /** Milliseconds; absent for a skipped test. */
    readonly duration?: number;
    readonly failureMessages?: readonly string[];
    /** The annotations that annotate.ts writes. */
    readonly meta?: { readonly project?: string; readonly skipped?: string };
  }[];
}

const { positionals, values } = parseArgs({
  options: { projects: { type: 'string' } },
  allowPositionals: true,
});
const [what, ...reports] = positionals;
const [first = [], again = []] = reports.map(filesOf);
if (what === 'failed') for (const { name } of first.filter(hasFailed)) console.log(name);
else if (what === 'slowest') slowest();
else if (what === 'total') total();
else {
  console.error(`counttests.ts: "${what}" is not failed, slowest or total`);
  process.exitCode = 2;
}

function filesOf(report: string): readonly TestFile[] {
  return existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
}

/** A file that could not be run has no test that failed. */
function hasFailed({ status, assertionResults }: TestFile): boolean {
  return status === 'failed' || assertionResults.some(test => test.status === 'failed');
}

function failuresOf(file: TestFile): string[] {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed');
  if (failed.length > 0)
    return failed.map(test => `${test.fullName}: ${firstLine(test.failureMessages?.[0])}`);
  return hasFailed(file) ? [firstLine(file.message)] : [];
}

function firstLine(text = ''): string {
  return text.split('\n', 1)[0]!;
}

function slowest(): void {
  const tests = first.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, duration = 0 }) => ({ file: relative('.', name), fullName, duration })),
  );
  for (const { file, fullName, duration } of tests.sort((a, b) => b.duration - a.duration).slice(0, 25))
    console.log(`${(duration / 1000).toFixed(1).padStart(6)} s  ${file}: ${fullName}`);
}

function total(): void {
  const repeated = new Map(again.map(file => [file.name, file]));
  for (const file of first) {
    const later = repeated.get(file.name);
    if (later === undefined || hasFailed(later)) continue;
    for (const failure of failuresOf(file))
      console.log(`unsteady, passed by itself: ${relative('.', file.name)}: ${failure}`);
  }
  const last = first.map(file => repeated.get(file.name) ?? file);
  const unproven = values.projects === undefined ? [] : unprovenIn(last, values.projects.split(','));
  for (const line of unproven) console.log(line);
  const statuses = last.flatMap(file => file.assertionResults.map(({ status }) => status));
  const passed = statuses.filter(status => status === 'passed').length;
  const failed = last.flatMap(failuresOf).length + unproven.length;
  const skipped = statuses.length - passed - statuses.filter(status => status === 'failed').length;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  if (passed === 0 || failed > 0) process.exitCode = 1;
}

/** Reasons why a run without a failure proves less than it seems. */
function unprovenIn(files: readonly TestFile[], projects: readonly string[]): string[] {
  const tests = files.flatMap(({ name, assertionResults }) =>
    assertionResults.map(test => ({ ...test, file: relative('.', name) })),
  );
  const ran = new Set(tests.filter(({ status }) => status === 'passed').map(({ meta }) => meta?.project));
  const silent = tests.filter(
    ({ status, meta }) => status !== 'passed' && status !== 'failed' && meta?.skipped === undefined,
  );
  return [
    ...projects
      .filter(project => !ran.has(project))
      .map(project => `no test of the project ${project} passed`),
    ...silent.map(({ file, fullName }) => `skipped, and nothing says why: ${file}: ${fullName}`),
  ];
}
