/** What a command that follows says where Ctrl-C ends it: how much it has shown. */
import { spanText } from '../answers/questions/byname.ts';
import { isData } from '../terminal/data.ts';
import { type OutputOptions, writeLine, writeNote } from '../terminal/output.ts';
import { plural } from '../terminal/plural.ts';

/** The command then ends as it would have without a word, and at once where somebody asks again. */
export function sayAtInterrupt(output: OutputOptions['output'], text: () => string): void {
  const [stream, write] = isData(output) ? [process.stderr, writeNote] : [process.stdout, writeLine];
  process.once('SIGINT', () => {
    if (stream.isTTY === true) write(''); // behind the terminal's own ^C
    write(text());
    process.kill(process.pid, 'SIGINT');
  });
}

/** `3 new connections and 1 denied one in 45 s`. */
export function flowsText(flows: number, denials: number, ms: number): string {
  return `${plural(flows, 'new connection')} and ${plural(denials, 'denied one')} in ${spanText(ms)}`;
}

/** Of which some were recorded before. */
export function denialsText(denials: number): string {
  return `${plural(denials, 'denied connection')} shown`;
}
