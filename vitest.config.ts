import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Outputs are compared as plain text, whatever the environment says of colours; Node warns where it says both.
process.env.NO_COLOR = '1';
delete process.env.FORCE_COLOR;

// Agents and commands that tests start compile our source once, and not each anew, which is half of such a start.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// On an emulated machine everything takes longer (scripts/vm).
const slow = Number(process.env.SLUICE_SLOW ?? 1);

const SLOW = ['src/**/*.slow.test.ts', 'bench/**/*.slow.test.ts', 'test/unit/**/*.slow.test.ts'];
const UNIT = globSync(['{src,web,bench,test/unit,test/support}/**/*.test.ts'], {
  cwd: import.meta.dirname,
  exclude: SLOW,
});
/** Without mocks, other clocks, and what belongs to a process, a file leaves nothing to the next one. */
const leavesNothing = (file: string) =>
  !/\bvi\b|node:(?:child_process|https?|net|process|timers|worker)|process\.(?:chdir|env|exit|on)/.test(
    readFileSync(join(import.meta.dirname, file), 'utf8'),
  );
const PURE = UNIT.filter(leavesNothing);

// What a test waits for may take long on a busy machine; the default is one second.
const EXPECT = { poll: { timeout: slow * 100_000, interval: 10 } };

const setupFiles = ['test/support/seed.ts'];

/** A file of properties takes minutes and one of unit tests a second: begun last, it would be waited for alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ project }: TestSpecification) =>
      ['property', 'page', 'slow', 'unit-alone', 'unit', 'kernel'].indexOf(project.name);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Of files at once: by itself vitest leaves a core alone, which of two is half.
    maxWorkers: '100%',
    projects: [
      {
        // What `npm run check` runs after each edit. To load modules anew for each file would be a third of the time.
        test: {
          name: 'unit',
          setupFiles,
          expect: EXPECT,
          include: PURE,
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'unit-alone',
          setupFiles,
          expect: EXPECT,
          include: UNIT.filter(file => !PURE.includes(file)),
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'slow',
          setupFiles,
          expect: EXPECT,
          include: SLOW,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Random clusters and histories.
        test: {
          name: 'property',
          setupFiles,
          expect: EXPECT,
          include: ['test/property/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The page in a browser. A missing browser is a failure. Files of a process share the page as it is built.
        test: {
          name: 'page',
          setupFiles,
          expect: EXPECT,
          include: ['test/page/**/*.test.ts'],
          isolate: false,
          testTimeout: slow * 120_000,
          hookTimeout: slow * 120_000,
        },
      },
      {
        // Real nf_tables: root. Each file has a network namespace of its own, in which it makes others, and it waits
        // more than it computes, so twice as many run at once as there are cores; one where everything is emulated.
        test: {
          name: 'kernel',
          setupFiles,
          expect: EXPECT,
          include: ['test/kernel/**/*.test.ts'],
          testTimeout: slow * 120_000,
          hookTimeout: slow * 60_000,
          globalSetup: 'test/support/agent/bundle.ts',
          execArgv: ['--require', join(import.meta.dirname, 'test/support/ownnetwork.ts')],
          maxWorkers: slow > 1 ? 1 : 2 * availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
