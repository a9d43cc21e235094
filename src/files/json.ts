import { ParseError } from './yaml.ts';

/** The value of a JSON text, or undefined where it is none; throws ParseError where a map names a key twice. */
export function parseJson(text: string): unknown {
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

const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;

/** JSON.parse keeps the last of two equal keys without a word; of two `ingress` lists nobody can say which is meant. */
function refuseRepeatedKeys(text: string): void {
  const maps: Set<string>[] = [];
  for (const { 0: token, 1: colon, index } of text.matchAll(TOKEN)) {
    if (token === '{') maps.push(new Set());
    else if (token === '}') maps.pop();
    else if (colon !== undefined)
      addKey(maps.at(-1)!, JSON.parse(token.slice(0, -colon.length)), text, index);
  }
}

function addKey(keys: Set<string>, key: string, text: string, index: number): void {
  if (keys.has(key)) throw new ParseError(`has the key ${JSON.stringify(key)} twice`, lineAt(text, index));
  keys.add(key);
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
