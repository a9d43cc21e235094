/** Scalars of YAML 1.1 whose meaning nobody can doubt; NotPlain is thrown for all others. */

/** What only the parser of all of YAML reads. */
export class NotPlain extends Error {}

const WHOLE = /^(?:0|-?[1-9][0-9]{0,14})$/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,8})\.[0-9]{1,6}$/;
/** Numbers in some reading: octal, hexadecimal, with an exponent or underscores, infinite, or none. */
const NUMBERLIKE = /^[-+]?(?:[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9_]+)?|0[xob][0-9a-fA-F_]*|\.(?:inf|nan))$/i;
const STARTS = /^(?:[A-Za-z0-9/_.$(+]|-[^ ]|::)/;
/** Words of YAML 1.1, in any spelling; those of JSON have one. */
const WORDLIKE = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
const WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** `text` has no blanks around it. */
export function plainScalar(text: string): string | number | boolean | null {
  if (text === '~') return null;
  if (!STARTS.test(text)) throw new NotPlain();
  if (WHOLE.test(text) || DECIMAL.test(text)) return Number(text);
  if (text.length > 5 || !WORDLIKE.test(text)) {
    if (NUMBERLIKE.test(text)) throw new NotPlain();
    return text;
  }
  const word = WORDS.get(text);
  if (word === undefined) throw new NotPlain();
  return word;
}

const JSON_ESCAPES = /^(?:[^\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*$/;

/** What stands between quotes, on one line: between double ones as JSON has it. */
export function quotedScalar(quote: '"' | "'", inner: string): string {
  if (quote === "'") return inner.replaceAll("''", "'");
  if (!inner.includes('\\')) return inner;
  if (!JSON_ESCAPES.test(inner)) throw new NotPlain();
  return JSON.parse(`"${inner}"`);
}

/** Where the quote that ends a scalar is, or -1. */
export function closingQuote(quote: '"' | "'", text: string, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    if (quote === '"' && text[at] === '\\') at++;
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== quote) return at;
      at++;
    }
  }
  return -1;
}

/** Of two equal keys nobody can say which is meant. */
export function putKey(map: Record<string, unknown>, key: unknown, value: unknown): void {
  if (typeof key !== 'string' || key === '__proto__' || Object.hasOwn(map, key)) throw new NotPlain();
  map[key] = value;
}
