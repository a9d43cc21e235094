/**
 * The outline of YAML documents: the place and the top-level keys of each. It is found line by line, in a hundredth of
 * the time that a parser takes.
 *
 * Only what every parser reads in the same way has an outline: a map in block style, whose keys are plain words at the
 * beginning of their lines. No other line can then have one of its keys: the lines of a nested map or of a block of
 * text are indented. All else has to be parsed: quoted keys, flow style, tags, aliases, a key that comes twice, a kind
 * that goes on in the next line.
 */
export interface Outline {
  /** The text of the document is from here up to `end`, without the line `---` before it. */
  readonly start: number;
  readonly end: number;
  /** The top-level keys, with each value that is one plain word. Absent where the document has to be parsed. */
  readonly keys?: ReadonlyMap<string, string | undefined>;
}

/** Undefined where it is not certain which documents there are. */
export function outlinesOf(text: string): readonly Outline[] | undefined {
  if (UNUSUAL.test(text)) return undefined;
  const outlines: Outline[] = [];
  let draft = new Draft(text, 0);
  for (const { 0: line, index } of text.matchAll(UNINDENTED)) {
    if (!(line.startsWith('---') || line.startsWith('...'))) draft.add(line, index);
    else if (!SEPARATOR.test(line)) return undefined;
    else {
      outlines.push(draft.endedAt(index));
      draft = new Draft(text, index + line.length);
    }
  }
  return [...outlines, draft.endedAt(text.length)];
}

/** Control characters, and characters that are the end of a line to some; directives. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const UNUSUAL = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]|\r(?!\n)|^%/m;
/** A line that begins with its text; a comment there is none. */
const UNINDENTED = /^[^\s#].*$/gm;
const SEPARATOR = /^---[ \t]*(?:[ \t]#.*)?$/;
const KEY = /^([A-Za-z_][\w./-]*):(?=[ \t]|$)/;
const WORD = /^ +([A-Za-z][\w./-]*) *(?: #.*)?$/;
const ITEM = /^-(?:[ \t]|$)/;

class Draft {
  readonly #text: string;
  readonly #start: number;
  readonly #keys = new Map<string, string | undefined>();
  #isClear: boolean;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#start = start;
    this.#isClear = !isNextIndented(text, start);
  }

  add(line: string, index: number): void {
    const [start, key] = KEY.exec(line) ?? [];
    if (start === undefined || key === undefined) {
      // The items of a list may stand below their key, without being indented.
      this.#isClear &&= ITEM.test(line) && this.#keys.size > 0;
      return;
    }
    const [, word] = WORD.exec(line.slice(start.length)) ?? [];
    const isWhole = word === undefined || !isNextIndented(this.#text, index + line.length);
    this.#isClear &&= isWhole && !this.#keys.has(key);
    this.#keys.set(key, word);
  }

  endedAt(end: number): Outline {
    return { start: this.#start, end, ...(this.#isClear && { keys: this.#keys }) };
  }
}

const NOT_SPACE = /\S/g;

/** Whether the next line that has more than a comment is indented. */
function isNextIndented(text: string, from: number): boolean {
  NOT_SPACE.lastIndex = from;
  for (let next = NOT_SPACE.exec(text); next !== null; next = NOT_SPACE.exec(text)) {
    if (next[0] !== '#') return next.index > 0 && text[next.index - 1] !== '\n';
    const end = text.indexOf('\n', next.index);
    if (end === -1) return false;
    NOT_SPACE.lastIndex = end;
  }
  return false;
}
