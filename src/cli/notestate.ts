/** What is wrong with what was read, and what an answer lacks by it: on standard error, before the answer. */
import type { State } from '../sources/state.ts';
import pc from '../terminal/colours.ts';
import { writeNote } from '../terminal/output.ts';
import { noteProblems } from '../terminal/problems.ts';

/** Why nothing that is said is a verdict. */
export const HIDDEN = 'not all policies could be read: what follows is what the others say';

export function noteState({ problems, notes }: State): void {
  noteProblems(problems);
  for (const note of notes) writeNote(`${pc.yellow('note')}: ${note}`);
}
