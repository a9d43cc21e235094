/** What is told of all that is wrong. */
import { firstOfEach } from '../../../lib/fairness/firstofeach.ts';
import type { Problem } from '../../../model/problem.ts';

/** Nobody reads more; and each of them would be looked at whenever one changes. */
const MOST_PROBLEMS = 2_000;

export function boundedProblems(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= MOST_PROBLEMS) return problems;
  const namespaces = Map.groupBy(problems, ({ about }) => about?.namespace ?? '').values();
  const shown = firstOfEach([...namespaces], MOST_PROBLEMS);
  const message = `there are ${problems.length - MOST_PROBLEMS} further problems`;
  const effect = 'they have the same effect as those that are named';
  return [...shown, { severity: 'error', message, effect }];
}
