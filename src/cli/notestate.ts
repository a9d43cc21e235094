/** What is wrong with what was read, and what an answer lacks by it: on standard error, before the answer. */
import { problemText } from '../model/problem.ts';
import pc from '../terminal/colours.ts';
import { writeNote } from '../terminal/output.ts';
import { noteProblems } from '../terminal/problems.ts';
import type { State } from './sources/state.ts';

/** Why nothing that is said is a verdict. */
export const HIDDEN = 'not all policies could be read: what follows is what the others say';

const MOST_PROBLEMS = 20;

/** What an answer of verdicts lacks, for whoever reads it later, without what was said beside it. */
export function notesOf(state: State): readonly string[] {
  return state.hidesPolicies ? [HIDDEN, ...lacksOf(state)] : lacksOf(state);
}

/** The same where each verdict says by itself that policies are hidden. */
export function lacksOf({ problems, notes }: State): readonly string[] {
  const errors = problems.filter(({ severity }) => severity === 'error').map(problemText);
  const more = errors.length - MOST_PROBLEMS;
  return [
    ...notes,
    ...errors.slice(0, MOST_PROBLEMS),
    ...(more > 0 ? [`and ${more} more that is wrong with what was read: sluice check lists it`] : []),
  ];
}

export function noteState({ problems, notes }: State): void {
  noteProblems(problems);
  writeNotes(notes);
}

/** Of several clusters: what is said of more than one of them is said once. */
export function noteStates(states: readonly State[]): void {
  const problems = new Map(states.flatMap(state => state.problems).map(each => [problemText(each), each]));
  noteProblems([...problems.values()]);
  writeNotes(new Set(states.flatMap(({ notes }) => notes)));
}

export function writeNotes(notes: Iterable<string>): void {
  for (const note of notes) writeNote(`${pc.yellow('note')}: ${note}`);
}
