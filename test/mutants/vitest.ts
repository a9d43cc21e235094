/**
 * A process with one vitest for one copy of the tree (tree.ts). It runs the test files that it is asked for, one after
 * another. It keeps each compiled source until a message says that the file has changed. It keeps nothing else, because
 * each test file runs in a process of its own.
 */
import { resolve } from 'node:path';
import { createVitest, type Reporter } from 'vitest/node';
import type { Answer, Question } from './tree.ts';

interface Reported {
  failed?: string;
  ended?: { readonly state: string; readonly message: string | undefined };
}

/** What vitest reports of this run: its own state has the runs before it too. */
let run: Reported = {};
const reporter: Reporter = {
  onTestCaseResult: test => {
    if (test.result().state === 'failed') run.failed ??= test.fullName;
  },
  onTestModuleEnd: module => {
    run.ended = { state: module.state(), message: module.errors()[0]?.message };
  },
};
const vitest = await createVitest('test', { watch: false, bail: 1, reporters: [reporter] });

process.on('message', (question: Question) => void answer(question).then(said => process.send!(said)));
// The parent process has ended, so this process ends with all that it has started.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

async function answer({ test, changed }: Question): Promise<Answer> {
  run = {};
  for (const file of changed) vitest.invalidateFile(resolve(file));
  const path = resolve(test);
  const found = await vitest.globTestSpecifications([path]);
  const { unhandledErrors } = await vitest.runTestSpecifications(
    found.filter(({ moduleId }) => moduleId === path),
  );
  const { failed, ended } = run;
  if (failed !== undefined) return { failed };
  if (ended?.state === 'passed' && unhandledErrors.length === 0) return {};
  // A fault that keeps a file from being loaded at all proves nothing.
  const [error] = unhandledErrors as readonly { readonly message?: string }[];
  return { broken: ended?.message ?? error?.message ?? 'the file was not found' };
}
