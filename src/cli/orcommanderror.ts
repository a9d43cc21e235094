/** What somebody typed wrongly is theirs to correct: an error without a stack. */
import { FlowTextError } from '../semantics/flowtext.ts';
import { CommandError } from '../terminal/commanderror.ts';

/** What `read` returns. Throws CommandError where it throws FlowTextError, with its message or what `inWords` makes of it. */
export function orCommandError<T>(read: () => T, inWords = (message: string) => message): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FlowTextError ? new CommandError(inWords(error.message)) : error;
  }
}
