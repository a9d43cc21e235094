/**
 * Lines that fit the terminal: a longer line is broken between words, and continues below the column where its text
 * began.
 */
import { randomUUID } from 'node:crypto';
import { visibleWidth, wrap } from './wrap.ts';

/** In a line: where its text begins, and each of its later lines. This process made it up, so no text from elsewhere holds it. */
export const HANG = `\u{f0001}${randomUUID()}`;

/** Narrower columns than this are no text any more. */
const LEAST_WIDTH = 20;
const TIGHT_INDENT = 4;

/** Wraps a line. Without `columns` it stays whole, for programs that read it. */
export function wrapped(line: string, columns: number | undefined): string {
  const at = line.indexOf(HANG);
  const start = at === -1 ? line.length - line.trimStart().length : at;
  const [head, text] = [line.slice(0, start), line.slice(start).replaceAll(HANG, '')];
  if (columns === undefined) return head + text;
  if (visibleWidth(head) + visibleWidth(text) <= columns) return head + text;
  const isTight = visibleWidth(head) > columns - LEAST_WIDTH;
  const indent = isTight ? TIGHT_INDENT : visibleWidth(head);
  const lines = wrap(text, Math.max(LEAST_WIDTH, columns - indent));
  const hung = lines.join(`\n${' '.repeat(indent)}`);
  return isTight ? `${head.trimEnd()}\n${' '.repeat(indent)}${hung}` : head + hung;
}
