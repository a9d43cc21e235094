import { type ParsedDocument, ParseError, parseYaml } from './yaml.ts';

/** The documents of a manifest, YAML or JSON; throws ParseError where one cannot be read. */
export function parseManifest(text: string): readonly ParsedDocument[] {
  return parseDocuments(text).map(document => {
    if (document instanceof ParseError) throw document;
    return document;
  });
}

/** Parses all documents, with an error in place of each that cannot be read. */
export function parseDocuments(text: string): readonly (ParsedDocument | ParseError)[] {
  try {
    // Nearly all JSON is YAML too, but JSON.parse is a hundred times faster.
    const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
    return json === undefined ? parseYaml(text) : [{ value: json, lineOf: () => undefined }];
  } catch (error) {
    if (error instanceof ParseError) return [error];
    throw error;
  }
}

/** The value of a JSON text, or undefined where it is none; throws ParseError where a map names a key twice. */
function parseJson(text: string): unknown {
  const value = tryParse(text);
  if (value !== undefined) refuseRepeatedKeys(text);
  return value;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const START = /["{}]/g;
const COLON = /\s*:/y;

/** JSON.parse silently keeps the last of two equal keys; of two `ingress` lists, the intended one is unknown. */
function refuseRepeatedKeys(text: string): void {
  const maps: Set<string>[] = [];
  START.lastIndex = 0;
  for (let start = START.exec(text); start !== null; start = START.exec(text)) {
    if (start[0] === '{') maps.push(new Set());
    else if (start[0] === '}') maps.pop();
    else {
      const end = stringEnd(text, start.index);
      COLON.lastIndex = end;
      if (COLON.test(text)) addKey(maps.at(-1)!, JSON.parse(text.slice(start.index, end)), text, start.index);
      START.lastIndex = end;
    }
  }
}

/**
 * The position after the closing quote. Written as a loop, because a regular expression overflows the stack on a string
 * of megabytes.
 */
function stringEnd(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let slash = at;
  while (text[slash - 1] === '\\') slash--;
  return (at - slash) % 2 === 1;
}

function addKey(keys: Set<string>, key: string, text: string, index: number): void {
  if (keys.has(key)) throw new ParseError(`has the key ${JSON.stringify(key)} twice`, lineAt(text, index));
  keys.add(key);
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
