/**
 * Most manifests have the same meaning for every YAML library. js-yaml reads those, several times as fast as the parser
 * that also records positions. That parser reads everything with an anchor, a tag, a repeated key, an error, or a
 * scalar that JSON and YAML 1.1 read differently.
 */
import {
  defineMappingTag,
  defineScalarTag,
  loadAll,
  mapTag,
  NOT_RESOLVED,
  Schema,
  seqTag,
  strTag,
} from 'js-yaml';

/** The documents of a text, without empty ones; undefined if not all of it is plain. */
export function parsePlain(text: string): readonly unknown[] | undefined {
  if (CONTROL.test(text) || UNUSUAL.test(text)) return undefined;
  try {
    return loadAll(text, { schema: SCHEMA, maxAliases: 0 }).filter(value => value !== null);
  } catch {
    return undefined; // the other parser reports the error
  }
}

/** Control characters, and characters that some parsers treat as the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const CONTROL = /[\0-\t\v-\x1f\x7f-\x9f\u2028\u2029\ufeff]/;
/**
 * Text that may be an anchor, a tag, a directive, a document end, a merge or a long key; and text that the two
 * libraries read differently.
 */
const UNUSUAL = /(?:^|[\s,[{:-])[&*!?%]|["']\?|^(?:\.\.\.| +---)|\\$|[|>][-+]?[0-9+]|__proto__|<</m;

const WHOLE = /^(?:0|-?[1-9][0-9]{0,14})$/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,8})\.[0-9]{1,6}$/;
/** Octal, hexadecimal, with an exponent or underscores, infinite, or none. */
const NUMBERLIKE =
  /^[-+]?(?:(?:[0-9_]+(?:\.[0-9_]*)?|\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?|0[xob][0-9a-fA-F_]*|\.(?:inf|nan))$/i;
const WORDLIKE = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
const WORDS = new Map<string, boolean | null>([
  ['', null],
  ['~', null],
  ['null', null],
  ['true', true],
  ['false', false],
]);

const number = defineScalarTag('tag:yaml.org,2002:float', {
  implicit: true,
  implicitFirstChars: [...'+-._0123456789eE'],
  identify: () => false,
  resolve: text => {
    if (WHOLE.test(text) || DECIMAL.test(text)) return Number(text);
    if (NUMBERLIKE.test(text)) throw new Error('a number in some reading');
    return NOT_RESOLVED;
  },
});

const word = defineScalarTag('tag:yaml.org,2002:bool', {
  implicit: true,
  implicitFirstChars: ['', ...'~yYnNoOtTfF'],
  identify: () => false,
  resolve: text => {
    const known = WORDS.get(text);
    if (known !== undefined) return known;
    if (WORDLIKE.test(text)) throw new Error('a word in some reading');
    return NOT_RESOLVED;
  },
});

const map = defineMappingTag<Record<string, unknown>>(mapTag.tagName, {
  ...mapTag,
  addPair: (made, key, value) =>
    typeof key === 'string' ? mapTag.addPair(made, key, value) : 'a key that is no text',
});

const SCHEMA = new Schema([strTag, seqTag, map, number, word]);
