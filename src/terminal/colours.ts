/** Colours for people at a terminal. Output to a pipe is plain text, on every machine. */
import { randomUUID } from 'node:crypto';
import picocolors from 'picocolors';
import { printable } from './printable.ts';

const NAMES = ['bold', 'dim', 'inverse', 'red', 'green', 'yellow', 'cyan', 'white', 'bgRed'] as const;

export type Colours = Readonly<Record<(typeof NAMES)[number], (text: string) => string>>;

const ESCAPE = '\x1b[';

/**
 * Used in place of ESCAPE until a line is written. It is random for each process, so no text from elsewhere contains
 * it.
 */
const MARK = `\u{f0000}${randomUUID()}`;

/**
 * Whether to write in colour: NO_COLOR (https://no-color.org) switches it off, FORCE_COLOR on, else the terminal
 * decides.
 */
export function inColour(
  env: Readonly<Record<string, string | undefined>>,
  stdout: { readonly isTTY?: boolean },
): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return stdout.isTTY === true && env.TERM !== 'dumb';
}

/** Colours of texts that `toTerminal` makes ready. */
export function makeColours(enabled: boolean): Colours {
  const paint = picocolors.createColors(enabled);
  const marked = (name: (typeof NAMES)[number]) => (text: string) =>
    enabled ? paint[name](printable(text)).replaceAll(ESCAPE, MARK) : text;
  return Object.fromEntries(NAMES.map(name => [name, marked(name)])) as Colours;
}

/** One line, with the colours that we gave it and no control character that came with a text. */
export function toTerminal(line: string): string {
  return printable(line).replaceAll(MARK, ESCAPE);
}

const COLOUR = new RegExp(`(?:\\x1b\\[|${MARK})[0-9;]*m`, 'g');

/** Neither those that a line will have, nor those that it has. */
export function withoutColours(text: string): string {
  return text.replace(COLOUR, '');
}

export default makeColours(inColour(process.env, process.stdout));
