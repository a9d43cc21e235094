/** Problems of what was read: a line of the log for each that is new, and all of them for the status. */

import type { Logger } from 'pino';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Problem, problemText } from '../../model/problem.ts';
import type { SourceWatcher } from './agentsource.ts';

export function reportToBoth(watcher: SourceWatcher, log: Logger): (problems: readonly Problem[]) => void {
  let logged = new Set<string>();
  return problems => {
    logged = logProblems(log, problems, logged);
    watcher.onProblems(problems);
  };
}

const problemTexts = new WeakMap<Problem, string>();

function textOf(problem: Problem): string {
  return getOrMake(problemTexts, problem, () => problemText(problem));
}

/** One line for each problem that is new; that all are mended is worth a line too. */
function logProblems(log: Logger, problems: readonly Problem[], before: ReadonlySet<string>): Set<string> {
  const texts = new Set<string>();
  for (const problem of problems) {
    const { severity, file, object, field } = problem;
    const text = textOf(problem);
    texts.add(text);
    if (!before.has(text)) log[severity === 'error' ? 'error' : 'warn']({ file, object, field }, text);
  }
  if (problems.length === 0) log.info({}, 'no problems in what was read any more');
  return texts;
}
