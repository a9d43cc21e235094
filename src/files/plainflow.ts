/** `{ a: b, c: [1, "two"] }`, on one line. */
import { closingQuote, NotPlain, plainScalar, putKey, quotedScalar } from './plainscalar.ts';

const DEEPEST = 20;
const PLAIN = /(?:[^\s,[\]{}"'#:]|:(?=:))(?:[^,[\]{}"'#:]|:(?![ ,[\]{}]|$))*/y;

/** The value that begins at `at` of a line, and where it ends. Throws NotPlain. */
export function readFlow(line: string, at: number): { readonly value: unknown; readonly end: number } {
  const reader = new FlowReader(line, at);
  return { value: reader.value(0), end: reader.at };
}

class FlowReader {
  readonly #line: string;
  at: number;

  constructor(line: string, at: number) {
    this.#line = line;
    this.at = at;
  }

  value(depth: number): unknown {
    if (depth > DEEPEST) throw new NotPlain();
    if (this.#take('{')) return this.#map(depth);
    return this.#take('[') ? this.#list(depth) : this.#scalar();
  }

  #map(depth: number): object {
    const map: Record<string, unknown> = {};
    while (!this.#take('}')) {
      const key = this.#scalar();
      this.#colon();
      putKey(map, key, this.value(depth + 1));
      this.#comma('}');
    }
    return map;
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = [];
    while (!this.#take(']')) {
      list.push(this.value(depth + 1));
      this.#comma(']');
    }
    return list;
  }

  #scalar(): unknown {
    const quote = this.#line[this.at];
    if (quote !== '"' && quote !== "'") return this.#plain();
    const from = this.at + 1;
    const close = closingQuote(quote, this.#line, from, this.#line.length);
    if (close === -1) throw new NotPlain();
    this.at = close + 1;
    this.#skipSpaces();
    return quotedScalar(quote, this.#line.slice(from, close));
  }

  #plain(): unknown {
    PLAIN.lastIndex = this.at;
    const [text] = PLAIN.exec(this.#line) ?? [];
    if (text === undefined) throw new NotPlain();
    this.at += text.length;
    return plainScalar(text.trimEnd());
  }

  /** `{a:1}` has the key `a:1`. */
  #colon(): void {
    if (!this.#line.startsWith(': ', this.at)) throw new NotPlain();
    this.#take(':');
  }

  /** Between two entries, and not behind the last. */
  #comma(close: string): void {
    if (this.#take(',') ? this.#line[this.at] === close : this.#line[this.at] !== close) throw new NotPlain();
  }

  #take(character: string): boolean {
    if (this.#line[this.at] !== character) return false;
    this.at++;
    this.#skipSpaces();
    return true;
  }

  #skipSpaces(): void {
    while (this.#line[this.at] === ' ') this.at++;
  }
}
