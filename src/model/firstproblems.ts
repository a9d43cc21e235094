/** The problems that are shown of very many. */
import { firstOfEach } from '../lib/fairness/firstofeach.ts';
import type { Problem } from './problem.ts';

/**
 * A longer list would have no reader, every change of one problem compares the whole list, and a client takes messages
 * of at most 4 MiB.
 */
const MOST_PROBLEMS = 2_000;

/** The first problems of each namespace in turn; the same list if it is short enough. */
export function firstProblems(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= MOST_PROBLEMS) return problems;
  const namespaces = Map.groupBy(problems, ({ about }) => about?.namespace ?? '').values();
  return firstOfEach([...namespaces], MOST_PROBLEMS);
}
