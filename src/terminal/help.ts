/** Help at the width of the terminal: paragraphs are wrapped, and columns keep their indentation. */
import { HANG } from './hang.ts';
import { outputColumns, writeLine, writeNote, writeUnwrapped } from './output.ts';
import { isPrintable, printable } from './printable.ts';

export function writeHelp(text: string): void {
  if (outputColumns() === undefined) writeUnwrapped(text);
  else for (const line of flowing(text.replace(/\n$/, '').split('\n'))) writeLine(line);
}

/**
 * Writes what is wrong with the words of the command line. They may be file names that other users chose: `sluice check
 * *`.
 */
export function writeUsageError(text: string): void {
  const words = process.argv.slice(2).filter(word => !isPrintable(word));
  const shown = words.reduce((said, word) => said.replaceAll(word, printable(word)), text);
  for (const line of shown.replace(/\n$/, '').split('\n')) writeNote(line);
}

/** Joins the lines of a paragraph, and those of one text of a column; lists and examples keep their lines. */
function flowing(lines: readonly string[]): string[] {
  const flown: string[] = [];
  for (const line of lines) {
    const last = flown.at(-1);
    const isOfColumn = last?.includes(HANG) && indentOf(line) === last.indexOf(HANG);
    if (last !== undefined && isProse(last) && isProse(line)) flown[flown.length - 1] = `${last} ${line}`;
    else if (isOfColumn) flown[flown.length - 1] = `${last} ${line.trimStart()}`;
    else flown.push(isProse(line) ? line : hanging(line));
  }
  return flown;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function isProse(line: string): boolean {
  return /^\S/.test(line) && !line.endsWith(':') && !line.startsWith('Usage: ');
}

/** The indentation of the wrapped lines: the text after the last gap of two spaces before the column limit. */
function hanging(line: string): string {
  const gap = [...line.slice(0, 64).matchAll(/\S {2,}(?=\S)/g)].at(-1);
  if (gap === undefined) return line;
  const at = gap.index + gap[0].length;
  return line.slice(0, at) + HANG + line.slice(at);
}
