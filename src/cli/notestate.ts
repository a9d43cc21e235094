/** What is wrong with what was read, and what an answer lacks by it: on standard error, before the answer. */
import type { State } from '../sources/state.ts';
import pc from '../terminal/colours.ts';
import { writeNote } from '../terminal/output.ts';
import { noteProblems } from '../terminal/problems.ts';

export function noteState({ problems, notes }: State): void {
  noteProblems(problems);
  for (const note of notes) writeNote(`${pc.yellow('note')}: ${note}`);
}
