import { type Problem, problemText } from '../model/problem.ts';
import pc from './colours.ts';
import { writeNote } from './output.ts';

/** Prints problems before the answer, and never on standard output; the answer is made from what could be read. */
export function noteProblems(problems: readonly Problem[]): void {
  for (const problem of problems.filter(({ severity }) => severity === 'error'))
    writeNote(`${pc.yellow('note')}: ${problemText(problem)}`);
}
