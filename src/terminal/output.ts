import { toTerminal } from './colours.ts';
import { wrapped } from './hang.ts';
import { printableJson } from './printable.ts';

/** The output options of every command. */
export interface OutputOptions {
  readonly output: 'text' | 'wide' | 'json' | 'yaml' | 'name';
}

/** One line: a line break in its text is shown as an escape. */
export function writeLine(line: string): void {
  process.stdout.write(`${wrapped(toTerminal(line), columnsOf(process.stdout))}\n`);
}

/** The width of the output; undefined if it is not known. */
export function outputColumns(): number | undefined {
  return columnsOf(process.stdout);
}

/** Output to a pipe is not wrapped, unless COLUMNS gives its width. A terminal that nobody sized, as of script, has 0. */
function columnsOf(stream: NodeJS.WriteStream): number | undefined {
  const said = Number(process.env.COLUMNS);
  return stream.isTTY === true ? stream.columns || NO_SIZE : said > 0 ? said : undefined;
}

const NO_SIZE = 80;

export function writeLines(lines: Iterable<string>): void {
  for (const line of lines) writeLine(line);
}

/** A line on standard error, which is for people also where standard output goes into a program. */
export function writeNote(line: string): void {
  process.stderr.write(`${wrapped(toTerminal(line), columnsOf(process.stderr))}\n`);
}

/** Replaces the progress line; an empty text removes it. */
export function writeProgress(text: string): void {
  process.stderr.write(`\r\x1b[K${toTerminal(text)}`);
}

/** Lines of a page, a table for programs, or a script: they are never wrapped. */
export function writeDocument(lines: Iterable<string>): void {
  for (const line of lines) process.stdout.write(`${toTerminal(line)}\n`);
}

/**
 * Waits until the reader has taken the written output: without that, a pipe without a reader would take unlimited
 * memory.
 */
export async function outputTaken(stream: NodeJS.WriteStream = process.stdout): Promise<void> {
  if (!stream.writableNeedDrain) return;
  await new Promise<void>(resolve => {
    const taken = () => {
      for (const event of ['drain', 'close'] as const) stream.off(event, taken);
      resolve();
    };
    for (const event of ['drain', 'close'] as const) stream.on(event, taken);
  });
}

/** Text that is whole and printable already. */
export function writeUnwrapped(text: string): void {
  process.stdout.write(text);
}

/** One line of JSON. */
export function writeJson(value: unknown): void {
  process.stdout.write(`${printableJson(value)}\n`);
}

/** One object a line, so that `jq` and `grep` work on any number of them. */
export function writeJsonLines(values: Iterable<unknown>): void {
  for (const value of values) writeJson(value);
}
