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

/** The width of tables and lists that are laid out for a terminal, wherever they go. */
export function terminalWidth(): number {
  return outputColumns() ?? NO_SIZE;
}

/**
 * COLUMNS counts before the terminal, as to git and ls. Output to a pipe is not wrapped without it. A terminal that nobody
 * sized, as of script, has 0.
 */
function columnsOf(stream: NodeJS.WriteStream): number | undefined {
  const said = Number(process.env.COLUMNS);
  if (Number.isInteger(said) && said > 0) return said;
  return stream.isTTY === true ? stream.columns || NO_SIZE : undefined;
}

const NO_SIZE = 80;

export function writeLines(lines: Iterable<string>): void {
  for (const line of lines) writeLine(line);
}

/** A line on standard error, which is for people also where standard output goes into a program. */
export function writeNote(line: string): void {
  process.stderr.write(`${wrapped(toTerminal(line), columnsOf(process.stderr))}\n`);
}

const atEnd = new Set<string>();

/** The same below the answer, or below the error: once, however many answers have it. */
export function writeNoteAtEnd(line: string): void {
  if (atEnd.size === 0)
    process.once('beforeExit', () => {
      for (const each of atEnd) writeNote(each);
    });
  atEnd.add(line);
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
