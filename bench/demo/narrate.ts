/** How the demo speaks: headings, steps with their time, plain lines. */
import pc, { toTerminal } from '../../src/terminal/colours.ts';
import { writeLine, writeLines } from '../../src/terminal/output.ts';
import { wrap } from '../../src/terminal/wrap.ts';

export function heading(text: string): void {
  writeLines(['', `${pc.bold(pc.cyan('▌'))} ${pc.bold(text)}`]);
}

export function line(text = ''): void {
  writeLine(text === '' ? '' : `  ${text}`);
}

/** Prints what is being done, then how long it took. */
export async function step<T>(text: string, work: () => Promise<T> | T): Promise<T> {
  const tty = process.stdout.isTTY;
  if (tty) process.stdout.write(toTerminal(pc.dim(`  … ${text}`)));
  const start = performance.now();
  const result = await work();
  const took = `${Math.round(performance.now() - start)} ms`;
  if (tty) process.stdout.write('\r\x1b[2K');
  writeLine(`  ${pc.green('✓')} ${text} ${pc.dim(took)}`);
  return result;
}

export function diffLine(text: string): void {
  line(text.startsWith('+') ? pc.green(text) : text.startsWith('-') ? pc.red(text) : pc.dim(text));
}

/** Breaks a long line between words, the rest further in, so that it can be read in any terminal. */
export function broken(text: string): string[] {
  const columns = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  return wrap(text, columns - 2, text.search(/\S|$/) + 4);
}
