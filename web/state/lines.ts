/** Lines of a manifest. */

export interface Block {
  readonly lines: readonly { readonly number: number; readonly text: string }[];
  /** The lines that belong to the place itself, counted from 1. */
  readonly first: number;
  readonly last: number;
}

/**
 * The line of a field with all that is below it: what follows and is indented further, or is an item of its list at the
 * same column; and some lines around, but none of another document.
 */
export function blockOf(text: string, line: number, around: number, most: number): Block {
  const all = text.split(/\r?\n/);
  const start = Math.min(Math.max(1, line), all.length);
  const last = Math.min(lastOf(all, start), start + most - 1);
  let [from, to] = [start, last];
  while (from > 1 && start - from < around && !isSeparator(all[from - 2]!)) from--;
  while (to < all.length && to - last < around && !isSeparator(all[to]!)) to++;
  const lines = all.slice(from - 1, to).map((each, i) => ({ number: from + i, text: each }));
  return { lines, first: start, last };
}

function lastOf(all: readonly string[], start: number): number {
  const own = all[start - 1]!;
  const indent = indentOf(own);
  // `ingress:` may have its items at its own column; an item ends where the next begins.
  const takesItems = !/^\s*-/.test(own);
  let last = start;
  for (let number = start + 1; number <= all.length; number++) {
    const text = all[number - 1]!;
    if (isSeparator(text)) break;
    if (/^\s*(?:#.*)?$/.test(text)) continue;
    const isItem = takesItems && indentOf(text) === indent && /^\s*-/.test(text);
    if (indentOf(text) <= indent && !isItem) break;
    last = number;
  }
  return last;
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

function isSeparator(text: string): boolean {
  return /^(?:---|\.\.\.)(?:\s|$)/.test(text);
}
