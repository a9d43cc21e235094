/** Things that come one by one: a line each for people, an object each for programs. */

import { plural } from '../../lib/text/plural.ts';
import { spanText } from '../../lib/text/spantext.ts';
import { isData, writeData } from '../../terminal/data.ts';
import {
  type OutputOptions,
  outputTaken,
  writeLine,
  writeNote,
  writeUnwrapped,
} from '../../terminal/output.ts';

export class Printer {
  readonly #output: OutputOptions['output'];
  #count = 0;

  constructor(output: OutputOptions['output']) {
    this.#output = output;
  }

  get count(): number {
    return this.#count;
  }

  async print(line: () => string, object: () => object): Promise<void> {
    const before = this.#count++;
    if (!isData(this.#output)) writeLine(line());
    else {
      if (this.#output === 'yaml' && before > 0) writeUnwrapped('---\n');
      await writeData(this.#output, [object()]);
    }
    await outputTaken();
  }
}

// The last line of a command that follows, when Ctrl-C ends it: how much it has shown.

/** The command then ends normally, and at once at a second interrupt. */
export function sayAtInterrupt(output: OutputOptions['output'], text: () => string): void {
  const [stream, write] = isData(output) ? [process.stderr, writeNote] : [process.stdout, writeLine];
  process.once('SIGINT', () => {
    if (stream.isTTY === true) write(''); // below the ^C that the terminal shows
    write(text());
    process.kill(process.pid, 'SIGINT');
  });
}

/** `3 new connections and 1 denied one in 45 s`. */
export function flowsText(flows: number, denials: number, ms: number): string {
  return `${plural(flows, 'new connection')} and ${plural(denials, 'denied one')} in ${spanText(ms)}`;
}

/** The count includes denials that were recorded before. */
export function denialsText(denials: number): string {
  return `${plural(denials, 'denied connection')} shown`;
}
