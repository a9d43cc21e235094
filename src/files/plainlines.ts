/** The lines of a text of plain YAML, one at a time; those that say nothing are passed over. */
import { NotPlain } from './plainscalar.ts';

/** Tabs, carriage returns, other control characters, and what some take for the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const UNUSUAL = /[\0-\t\v-\x1f\x7f-\x9f\u2028\u2029\ufeff]/;
const [DASH, HASH, SPACE, NEW_LINE] = [0x2d, 0x23, 0x20, 0x0a];

export class Lines {
  readonly text: string;
  /** How far the line was read. */
  at = 0;
  /** Behind its last character. */
  end = 0;
  #start = 0;

  constructor(text: string) {
    if (UNUSUAL.test(text)) throw new NotPlain();
    this.text = text;
    this.#goTo(0);
  }

  get isOver(): boolean {
    return this.#start > this.text.length;
  }

  get column(): number {
    return this.at - this.#start;
  }

  next(): void {
    this.#goTo(this.end + 1);
  }

  skipSpaces(): void {
    while (this.text.charCodeAt(this.at) === SPACE) this.at++;
  }

  /** Whether the rest of the line says nothing. */
  isEnd(): boolean {
    return this.at >= this.end || this.text.charCodeAt(this.at) === HASH;
  }

  /** Whether the line is `---`; every other one that begins so, `...` and directives are not plain. */
  isMarker(): boolean {
    if (this.isOver || this.column > 0) return false;
    const { text, at, end } = this;
    if (!text.startsWith('---', at)) {
      if (text.startsWith('...', at) || text[at] === '%') throw new NotPlain();
      return false;
    }
    if (end !== at + 3) throw new NotPlain();
    return true;
  }

  /** Whether an entry of a list begins here. */
  isItem(): boolean {
    if (this.text.charCodeAt(this.at) !== DASH) return false;
    const next = this.text.charCodeAt(this.at + 1);
    return next === SPACE || next === NEW_LINE || this.at + 1 === this.text.length;
  }

  /** Goes on behind a value that ends at `at` of this line, and has nothing but a comment behind it. */
  endAt(at: number): void {
    this.at = at;
    this.skipSpaces();
    if (!this.isEnd() || (this.at < this.end && this.text[this.at - 1] !== ' ')) throw new NotPlain();
    this.next();
  }

  /** Goes to the next line, and says whether a plain scalar of that column goes on there. */
  continues(column: number): boolean {
    const follows = this.end + 1;
    this.next();
    if (this.isOver || this.column <= column) return false;
    if (this.#start !== follows) throw new NotPlain(); // An empty line or a comment is in between.
    return true;
  }

  /** The same of a scalar in quotes, in which nothing is a comment. */
  continuesText(column: number): boolean {
    this.#set(this.end + 1);
    return this.at < this.end && this.column > column;
  }

  /** The lines of a literal scalar of a key or dash at the column, without the spaces that all of them have. */
  literal(column: number): string[] {
    const lines: string[] = [];
    let [indent, empty] = [0, 0];
    for (this.#set(this.end + 1); !this.isOver; this.#set(this.end + 1)) {
      if (this.at >= this.end) {
        if (this.column > indent) throw new NotPlain();
        empty++;
        continue;
      }
      if (lines.length === 0) indent = this.#indentOf(column, empty);
      if (this.column < indent) break;
      while (empty > 0 && empty--) lines.push('');
      lines.push(this.text.slice(this.#start + indent, this.end));
      if (this.end === this.text.length) throw new NotPlain(); // A last line that does not end.
    }
    if (lines.length === 0) throw new NotPlain();
    if (!this.isOver) this.#goTo(this.#start);
    return lines;
  }

  #indentOf(column: number, empty: number): number {
    if (empty > 0 || this.column <= column) throw new NotPlain();
    return this.column;
  }

  /** To the first line at or behind `start` that says anything. */
  #goTo(start: number): void {
    this.#set(start);
    while (!this.isOver && this.isEnd()) this.#set(this.end + 1);
  }

  /** To the first character of a line that is no space. */
  #set(start: number): void {
    const end = this.text.indexOf('\n', start);
    this.#start = start;
    this.end = end === -1 || start > this.text.length ? this.text.length : end;
    this.at = start;
    this.skipSpaces();
  }
}
