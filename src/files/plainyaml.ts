/**
 * A reader of plain YAML: what kubectl and helm print, and most people write. It is many times as fast as the parser of
 * all of YAML, and never answers anything else: where a text has a tag, an anchor, a tab, a repeated key, an error, or
 * whatever else could be read in two ways, it answers nothing, and the other one reads it.
 *
 *     document = block at any column
 *     block    = a map: `key:`, then a value on the line or a block further in
 *              | a list: `- `, then a value, a map or list that begins on the line, or a block further in
 *     value    = a scalar, plain or in quotes, perhaps folded over lines | `|` or `|-`, and lines further in
 *              | `{…}` or `[…]` on one line
 */
import { readFlow } from './plainflow.ts';
import { Lines } from './plainlines.ts';
import { closingQuote, NotPlain, plainScalar, putKey, quotedScalar } from './plainscalar.ts';

/** The documents of a text; undefined where it is not all plain. */
export function parsePlain(text: string): readonly unknown[] | undefined {
  try {
    return documentsOf(new Lines(text));
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

const DEEPEST = 100;
const KEY = /(?:"([^"\\\n]*)"|'([^'\n]*)'|([A-Za-z0-9_./$(](?:[^\s:#,[\]{}"']|:(?=\S))*)):(?=[ \n]|$)/y;

function documentsOf(lines: Lines): unknown[] {
  const documents: unknown[] = [];
  for (;;) {
    while (lines.isMarker()) lines.next();
    if (lines.isOver) return documents;
    documents.push(block(lines, 0));
    if (!lines.isOver && !lines.isMarker()) throw new NotPlain();
  }
}

/** Whatever begins here. */
function block(lines: Lines, depth: number): unknown {
  if (depth > DEEPEST) throw new NotPlain();
  return lines.isItem() ? list(lines, depth) : map(lines, depth);
}

function map(lines: Lines, depth: number): object {
  const { column } = lines;
  const found: Record<string, unknown> = {};
  do {
    const key = keyAt(lines);
    putKey(found, key, value(lines, column, depth, true));
  } while (goesOn(lines, column));
  return found;
}

function list(lines: Lines, depth: number): unknown[] {
  const { column } = lines;
  const found: unknown[] = [];
  do {
    lines.at++;
    lines.skipSpaces();
    found.push(startsBlock(lines) ? block(lines, depth + 1) : value(lines, column, depth, false));
  } while (goesOn(lines, column) && lines.isItem());
  return found;
}

/** Whether there is more of what stands at the column. */
function goesOn(lines: Lines, column: number): boolean {
  if (lines.isOver || lines.isMarker()) return false;
  if (lines.column > column) throw new NotPlain();
  return lines.column === column;
}

function keyAt(lines: Lines): unknown {
  KEY.lastIndex = lines.at;
  const [all, double, single, plain] = KEY.exec(lines.text) ?? [];
  if (all === undefined) throw new NotPlain();
  lines.at += all.length;
  return double ?? single ?? plainScalar(plain!);
}

/** Behind a dash, a map or a list may begin on its line. */
function startsBlock(lines: Lines): boolean {
  KEY.lastIndex = lines.at;
  return lines.isItem() || KEY.test(lines.text);
}

/** Behind a key or a dash that stands at `column`; then the lines stand behind the value. */
function value(lines: Lines, column: number, depth: number, isOfKey: boolean): unknown {
  lines.skipSpaces();
  const first = lines.text[lines.at];
  if (lines.isEnd()) return below(lines, column, depth, isOfKey);
  if (first === '|') return literal(lines, column);
  if (first === '{' || first === '[') return flow(lines);
  if (first === '"' || first === "'") return quoted(lines, first, column);
  return plain(lines, column);
}

/** A list may stand at the column of its key. */
function below(lines: Lines, column: number, depth: number, isOfKey: boolean): unknown {
  lines.next();
  if (lines.isOver || lines.isMarker()) return null;
  const isBelow = lines.column > column || (isOfKey && lines.column === column && lines.isItem());
  return isBelow ? block(lines, depth + 1) : null;
}

function plain(lines: Lines, column: number): unknown {
  let text = plainLine(lines);
  for (let isFirst = true; lines.continues(column); isFirst = false) {
    if (isFirst && text.includes(' #')) throw new NotPlain();
    const more = plainLine(lines);
    if (more.includes(' #')) throw new NotPlain();
    text += ` ${more}`;
  }
  const comment = text.indexOf(' #');
  return plainScalar(comment === -1 ? text : text.slice(0, comment).trimEnd());
}

function plainLine({ text, at, end }: Lines): string {
  const line = text.slice(at, end).trimEnd();
  if (line.includes(': ') || line.endsWith(':')) throw new NotPlain();
  return line;
}

function quoted(lines: Lines, quote: '"' | "'", column: number): string {
  let inner = '';
  lines.at++;
  for (;;) {
    const close = closingQuote(quote, lines.text, lines.at, lines.end);
    if (close !== -1) {
      inner += lines.text.slice(lines.at, close);
      lines.endAt(close + 1);
      return quotedScalar(quote, inner);
    }
    const line = lines.text.slice(lines.at, lines.end).trimEnd();
    // It ends here or there: an escaped end of a line.
    if (line.endsWith('\\') || !lines.continuesText(column)) throw new NotPlain();
    inner += `${line} `;
  }
}

function flow(lines: Lines): unknown {
  const { value, end } = readFlow(lines.text.slice(lines.at, lines.end), 0);
  lines.endAt(lines.at + end);
  return value;
}

const LITERAL = /\|(-?) *(?=\n)/y;

function literal(lines: Lines, column: number): string {
  LITERAL.lastIndex = lines.at;
  const [all, strip] = LITERAL.exec(lines.text) ?? [];
  if (all === undefined) throw new NotPlain();
  return `${lines.literal(column).join('\n')}${strip === '-' ? '' : '\n'}`;
}
