/** What `sluice explain` is asked: one flow from its arguments, or many from a file. */
import type { Question } from '../answers/questions/answer.ts';
import { questionsIn } from '../answers/questions/traffic.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { readText } from './sources/files.ts';

/** A line that cannot be read as one. */
export interface Unreadable {
  readonly line: string;
  readonly problem: string;
}

/** Throws CommandError where the arguments do not fit one another, or the file cannot be read. */
export async function readQuestions(
  from: string | undefined,
  to: string | undefined,
  file: string | undefined,
): Promise<readonly (Question | Unreadable)[]> {
  if (file === undefined) {
    if (from !== undefined && to !== undefined) return [{ from, to }];
    throw new CommandError('explain needs FROM and TO, or --flows FILE');
  }
  if (from !== undefined) throw new CommandError('explain takes either FROM and TO or --flows, not both');
  const content = await readText(file);
  const questions = /^\s*[[{]/.test(content) ? trafficQuestions(content, file) : parseQuestions(content);
  // Nothing was denied of what somebody failed to write.
  if (questions.length === 0)
    throw new CommandError(`${file === '-' ? 'standard input' : file} holds no flow`);
  return questions;
}

/** What policy-assistant takes. */
function trafficQuestions(content: string, file: string): readonly Question[] {
  try {
    return questionsIn(JSON.parse(content));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof FlowTextError)
      throw new CommandError(`${file}: ${error.message}`);
    throw error;
  }
}

/** `shop/web shop/db:5432 # why`: an arrow between the two is welcome, and empty lines are left out. */
function parseQuestions(content: string): (Question | Unreadable)[] {
  const lines = content.split('\n').map(line => line.replace(/#.*/, '').trim());
  return lines.filter(line => line !== '').map(questionOf);
}

function questionOf(line: string): Question | Unreadable {
  const [from, to, ...rest] = line.replace('->', ' ').split(/\s+/);
  if (to === undefined || rest.length > 0)
    return { line, problem: 'cannot parse: expected FROM TO[:PORT[/PROTOCOL]]' };
  return { from: from!, to };
}
