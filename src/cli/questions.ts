/** What `sluice explain` is asked: one flow from its arguments, or many from a file, one a line. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { CommandError } from '../terminal/commanderror.ts';

/** A connection as it was asked for. */
export interface Question {
  readonly from: string;
  readonly to: string;
}

/** A line that cannot be read as one. */
export interface Unreadable {
  readonly line: string;
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
  return parseQuestions(await readFlows(file));
}

/** `shop/web shop/db:5432 # why`: an arrow between the two is welcome, and empty lines are left out. */
export function parseQuestions(content: string): (Question | Unreadable)[] {
  const lines = content.split('\n').map(line => line.replace(/#.*/, '').trim());
  return lines.filter(line => line !== '').map(questionOf);
}

function questionOf(line: string): Question | Unreadable {
  const [from, to, ...rest] = line.replace('->', ' ').split(/\s+/);
  return to === undefined || rest.length > 0 ? { line } : { from: from!, to };
}

async function readFlows(path: string): Promise<string> {
  if (path === '-') return text(process.stdin);
  return readFile(path, 'utf8').catch(error => {
    throw new CommandError(`cannot read ${path}: ${(error as Error).message}`);
  });
}
