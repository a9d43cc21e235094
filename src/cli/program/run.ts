/** Runs the command that was typed. */
import { type Command, CommanderError } from 'commander';
import { boundedText } from '../../lib/text/boundedtext.ts';
import { CommandError } from '../../terminal/commanderror.ts';

export async function run(program: Command): Promise<void> {
  // A reader that had enough (`sluice … | head`) is no error, and changes no answer: the exit code is set once all is written.
  // An answer that cannot be written is none.
  process.stdout.on('error', error => {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return setImmediate(() => process.exit());
    void report(new CommandError(`cannot write the answer: ${error.message}`)).then(() => process.exit());
  });
  await program.parseAsync().catch(report);
}

/** Anything that a person can mend is one sentence; a bug keeps its stack. Both are exit code 2: no answer. */
async function report(error: unknown): Promise<void> {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return;
  }
  // Loaded late: its libraries take a fifth of the start of an agent.
  const { writeNote } = await import('../../terminal/output.ts');
  const named = error instanceof CommandError || (error instanceof Error && error.name === 'KernelError');
  const [first = '', ...rest] = named ? [boundedText((error as Error).message)] : stackOf(error).split('\n');
  for (const line of [`sluice: ${first}`, ...rest]) writeNote(line);
  process.exitCode = 2;
}

function stackOf(error: unknown): string {
  return (error instanceof Error ? error.stack : undefined) ?? String(error);
}
