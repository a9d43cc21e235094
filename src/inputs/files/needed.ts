/**
 * The documents of a file that an answer may need. A repository has many files without any object, such as settings of
 * programs and values of a chart, and many objects of kinds that no answer reads. They are no mistakes; they are
 * counted, and where it is certain before they are parsed, they are not parsed. A file with an object is a manifest:
 * whatever else it holds is read, and complained of.
 */
import { isUnneeded } from '../kube/decode/unneeded.ts';
import { asMap, asMaps } from '../kube/report/identity.ts';
import { type Outline, outlinesOf } from './outline.ts';
import { parseDocuments } from './parse.ts';
import type { FileTally } from './tally.ts';
import { type ParsedDocument, ParseError, parseYaml } from './yaml.ts';

export interface Documents {
  /** With an error in place of each that cannot be read. */
  readonly documents: readonly (ParsedDocument | ParseError)[];
  readonly tally: FileTally;
}

/**
 * `alsoNeeded` are kinds that are read although no other answer needs them; `parse` parses one document, or some that
 * cannot be told apart before.
 */
export function neededDocuments(
  text: string,
  alsoNeeded: ReadonlySet<string> = NO_KINDS,
  parse: Parse = parseYaml,
): Documents {
  if (!MAY_BE_OBJECT.test(text)) return FOREIGN;
  const outlines = JSON_LIKE.test(text) ? undefined : outlinesOf(text);
  const { rest, kinds, needed } =
    outlines === undefined
      ? { rest: text, kinds: NONE, needed: [] }
      : withoutUnneeded(text, outlines, alsoNeeded);
  const parsed = outlines === undefined ? parseDocuments(text) : parsedOf(text, needed, parse);
  if (rest.includes('{{') && parsed.some(isOfTemplate) && !SAYS_POLICY.test(rest))
    return { documents: [], tally: { ...NOTHING, kinds, isTemplate: true } };
  const isManifest =
    kinds.length > 0 ||
    parsed.some(each => (each instanceof ParseError ? SAYS_OBJECT.test(rest) : isLikeObject(each.value)));
  return isManifest ? { documents: parsed, tally: { ...NOTHING, documents: parsed.length, kinds } } : FOREIGN;
}

export type Parse = (text: string) => readonly (ParsedDocument | ParseError)[];

/** Documents of a text, each parsed by itself, with the lines of the whole text. */
function parsedOf(text: string, outlines: readonly Outline[], parse: Parse): (ParsedDocument | ParseError)[] {
  let [line, at] = [0, 0];
  return outlines.flatMap(({ start, end }) => {
    line += lineEnds(text, at, start).length;
    at = start;
    const before = line;
    return parse(text.slice(start, end)).map(each => below(each, before));
  });
}

/** The same document, with so many lines before its text. */
function below(document: ParsedDocument | ParseError, lines: number): ParsedDocument | ParseError {
  const moved = (line: number | undefined) => (line === undefined ? undefined : line + lines);
  if (document instanceof ParseError) return new ParseError(document.message, moved(document.line));
  return { value: document.value, lineOf: path => moved(document.lineOf(path)) };
}

const NONE: readonly string[] = [];
const NO_KINDS: ReadonlySet<string> = new Set();
const NOTHING: FileTally = { documents: 0, kinds: NONE, isForeign: false, isTemplate: false };
const FOREIGN: Documents = { documents: [], tally: { ...NOTHING, isForeign: true } };

/** A key may be written with escapes. */
const MAY_BE_OBJECT = /apiversion|kind|metadata|spec|podselector|policytypes|\\[uUx\r\n]/i;
const JSON_LIKE = /^\s*[[{]/;

/** A text that cannot be parsed may have been meant as an object. */
const SAYS_OBJECT = /(?:^|[\s"'{,-])(?:apiVersion|kind|podSelector|policyTypes)["']?[ \t]*:/im;
/** A policy that is a template is its author's to render. */
const SAYS_POLICY = /NetworkPolic|podSelector|policyTypes/;

/** To YAML, `{{ name }}` is a map whose key is a map: nobody means that. */
function isOfTemplate(document: ParsedDocument | ParseError): boolean {
  if (document instanceof ParseError) return true;
  try {
    return /"\{ [^"]*":|"a key that is no text":/.test(JSON.stringify(document.value));
  } catch {
    return false; // it contains itself
  }
}

interface Rest {
  /** The text without objects that no answer needs. */
  readonly rest: string;
  /** The kinds of those. */
  readonly kinds: readonly string[];
  /** What has to be parsed. */
  readonly needed: readonly Outline[];
}

function withoutUnneeded(text: string, outlines: readonly Outline[], alsoNeeded: ReadonlySet<string>): Rest {
  const kinds: string[] = [];
  const needed: Outline[] = [];
  let rest = '';
  let done = 0;
  for (const outline of outlines) {
    const { start, end, keys } = outline;
    const [apiVersion, kind] = [keys?.get('apiVersion'), keys?.get('kind')];
    const isLeftOut =
      apiVersion !== undefined &&
      kind !== undefined &&
      !alsoNeeded.has(kind) &&
      isUnneeded({ apiVersion, kind });
    if (!isLeftOut) {
      needed.push(outline);
      continue;
    }
    kinds.push(kind);
    rest += text.slice(done, start);
    done = end;
  }
  const isObject = ({ keys }: Outline) => keys === undefined || isLikeObject(Object.fromEntries(keys));
  const isDone = needed.length === 0 || (kinds.length === 0 && !outlines.some(isObject));
  return isDone ? { rest: '', kinds, needed: [] } : { rest: rest + text.slice(done), kinds, needed };
}

function lineEnds(text: string, start: number, end: number): string {
  let lines = 0;
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines++;
  return '\n'.repeat(lines);
}

/** Whether its author may have meant a Kubernetes object: it has two of an object's fields, or says that it is a policy. */
function isLikeObject(value: unknown): boolean {
  if (Array.isArray(value)) return asMaps(value).some(isLikeObject);
  const map = asMap(value);
  const fields = Object.keys(map).filter(key => FIELDS.has(key.toLowerCase()));
  return fields.length > 1 || (typeof map.kind === 'string' && /NetworkPolicy$/i.test(map.kind));
}

const FIELDS = new Set(['apiversion', 'kind', 'metadata', 'spec', 'items', 'podselector', 'policytypes']);
