import { type Problem, problemText } from '../model/problem.ts';
import pc from './colours.ts';
import { writeNote } from './output.ts';

/** Answers are made from what could be read; problems come first, and never on standard output. */
export function noteProblems(problems: readonly Problem[]): void {
  for (const problem of problems.filter(({ severity }) => severity === 'error'))
    writeNote(`${pc.yellow('note')}: ${problemText(problem)}`);
}
