/** What is told of all that is wrong. */
import type { Problem } from '../../../model/problem.ts';

/** Nobody reads more; and each of them would be looked at whenever one changes. */
const MOST_PROBLEMS = 2_000;

export function boundedProblems(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= MOST_PROBLEMS) return problems;
  const shown = inTurns(problems, MOST_PROBLEMS);
  const message = `there are ${problems.length - MOST_PROBLEMS} further problems`;
  const effect = 'they have the same effect as those that are named';
  return [...shown, { severity: 'error', message, effect }];
}

/** Namespaces take turns, so that nobody's many hide another's few. */
function inTurns(problems: readonly Problem[], most: number): Problem[] {
  const groups = [...Map.groupBy(problems, ({ about }) => about?.namespace ?? '').values()];
  const shown: Problem[] = [];
  for (let turn = 0; shown.length < most; turn++)
    shown.push(...groups.flatMap(its => its[turn] ?? []).slice(0, most - shown.length));
  return shown;
}
