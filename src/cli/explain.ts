import type { UnknownPods } from '../model/podcidrs.ts';
import type { SourceOptions } from '../sources/options.ts';
import { readState } from '../sources/readstate.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { type OutputOptions, writeJsonLines, writeLines, writeNote } from '../terminal/output.ts';
import { noteProblems } from '../terminal/problems.ts';
import { answer, explain } from './answers.ts';
import { answerLine, answerObject, explanationLines } from './explaintext.ts';
import { readQuestions } from './questions.ts';

export type ExplainOptions = OutputOptions &
  SourceOptions & { readonly flows?: string; readonly unknownPods?: UnknownPods };

/** `sluice explain FROM TO[:PORT[/PROTOCOL]]`, or many with `--flows FILE`: of `--manifests DIR`, or of the agent's cluster. */
export async function explainCommand(
  from: string | undefined,
  to: string | undefined,
  options: ExplainOptions,
): Promise<void> {
  const questions = await readQuestions(from, to, options.flows);
  const read = await readState(options);
  noteProblems(read.problems);
  for (const note of read.notes) writeNote(`${pc.yellow('note')}: ${note}`);
  const judged = {
    cluster: read.cluster,
    unknownPods: options.unknownPods ?? read.unknownPods ?? 'allow',
  };
  const answers = answer(judged, questions);
  const only = options.flows === undefined ? answers[0] : undefined;
  if (only !== undefined && 'error' in only) throw new CommandError(only.error);
  if (answers.some(each => 'error' in each)) process.exitCode = 1;
  if (options.output === 'json') writeJsonLines(answers.map(answerObject));
  else writeLines(only === undefined ? answers.map(answerLine) : explanationLines(explain(judged, only)));
}
