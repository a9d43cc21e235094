import { type Problem, problemTexts } from '../model/problem.ts';
import pc from './colours.ts';
import { writeNote } from './output.ts';

/** Prints problems before the answer, and never on standard output; the answer is made from what could be read. */
export function noteProblems(problems: readonly Problem[]): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  for (const text of problemTexts(errors)) writeNote(`${pc.yellow('note')}: ${text}`);
}
