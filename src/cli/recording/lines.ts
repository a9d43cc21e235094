/** The lines of a file that may be huge, or one line without an end: no more of it is in memory than a line may have. */
import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { readFailure } from '../../inputs/files/folder.ts';
import { CommandError } from '../../terminal/commanderror.ts';

/** Each line that ended. Throws CommandError where one is longer. */
export async function* linesOf(path: string, longest: number): AsyncGenerator<string> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const parts = (rest + decoder.write(chunk)).split('\n');
      rest = parts.pop()!;
      if (rest.length > longest)
        throw new CommandError(`${path}: a line has more than ${longest} characters`);
      yield* parts;
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot read ${path}: it ${readFailure(error)}`);
  }
}
