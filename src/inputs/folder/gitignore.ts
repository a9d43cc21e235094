/**
 * `.gitignore`, as git reads it: the last line that matches decides, a file deeper in the tree goes first, and what is
 * in an ignored folder is ignored. Matching takes no regular expression: a hostile pattern would take one forever. What
 * is beyond a limit ignores nothing, so that more is read and not less.
 */

/** One line: `build/`, `/out/*.yaml`, `!keep.yaml`. */
interface Pattern {
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
  /** It is about the path from the file's folder, not about names in any depth. */
  readonly isAnchored: boolean;
  /** `**` is any number of names. */
  readonly segments: readonly ('**' | readonly Token[])[];
}

/** `*` is any text, `?` any character; else a set of characters, which may be one. */
type Token =
  | '*'
  | '?'
  | { readonly isNegated: boolean; readonly ranges: readonly (readonly [string, string])[] };

export interface Ignores {
  readonly patterns: readonly Pattern[];
  /** Whether a limit left lines out. */
  readonly isCut: boolean;
}

/** Each name is held against each line. */
const MOST_LINES = 2_000;
const LONGEST_LINE = 1_024;
const MOST_SEGMENTS = 64;

/** About half a second of matching, and more than large repositories need. */
const MOST_STEPS = 50_000_000;

/** What matching may still take: all files and lines of a listing share it. */
export class Steps {
  #left: number;

  constructor(most = MOST_STEPS) {
    this.#left = most;
  }

  get areSpent(): boolean {
    return this.#left <= 0;
  }

  spend(steps: number): void {
    this.#left -= steps;
  }
}

export function parseIgnores(text: string): Ignores {
  const lines = text.replace(/^\ufeff/, '').split('\n', MOST_LINES + 1);
  const read = lines.slice(0, MOST_LINES).filter(({ length }) => length <= LONGEST_LINE);
  const patterns = read.flatMap(line => patternOf(line.replace(/\r$/, '')));
  const short = patterns.filter(({ segments }) => segments.length <= MOST_SEGMENTS);
  return { patterns: short, isCut: read.length < lines.length || short.length < patterns.length };
}

/** Whether a path below the file's folder is ignored; undefined where the file says nothing of it, or steps are spent. */
export function isIgnored(
  { patterns }: Ignores,
  path: string,
  isFolder: boolean,
  steps: Steps,
): boolean | undefined {
  const names = path.split('/');
  const found = patterns.findLast(
    ({ isForFolders, isAnchored, segments }) =>
      !steps.areSpent &&
      (isFolder || !isForFolders) &&
      matchesPath(segments, isAnchored ? names : names.slice(-1), steps),
  );
  return found === undefined || steps.areSpent ? undefined : !found.isNegated;
}

function patternOf(line: string): Pattern[] {
  if (line.startsWith('#')) return [];
  const isNegated = line.startsWith('!');
  const text = withoutSpaces(isNegated ? line.slice(1) : line);
  const isForFolders = text.endsWith('/');
  const path = isForFolders ? text.slice(0, -1) : text;
  const isAnchored = path.includes('/');
  const names = path.replace(/^\//, '').split('/');
  const segments = names
    .map(name => (/^\*\*+$/.test(name) ? '**' : tokensOf(name)))
    .filter((segment, index, all) => segment !== '**' || all[index - 1] !== '**');
  if (path === '' || segments.includes(undefined)) return [];
  return [{ isNegated, isForFolders, isAnchored, segments: segments as Pattern['segments'] }];
}

/** Spaces at the end count only behind a backslash. */
function withoutSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end--;
  return line.slice(0, end);
}

/** Undefined where it can match nothing: a set that is not closed, a backslash at the end. */
function tokensOf(name: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < name.length; at++) {
    const character = name[at]!;
    if (character === '*' || character === '?') tokens.push(character);
    else if (character === '[') {
      const set = setAt(name, at + 1);
      if (set === undefined) return undefined;
      tokens.push(set.token);
      at = set.end;
    } else {
      const literal = character === '\\' ? name[++at] : character;
      if (literal === undefined) return undefined;
      tokens.push({ isNegated: false, ranges: [[literal, literal]] });
    }
  }
  return tokens;
}

/** `[a-z]`, `[!a]`, `[]a]`: from behind the bracket on. */
function setAt(name: string, start: number): { readonly token: Token; readonly end: number } | undefined {
  const isNegated = name[start] === '!' || name[start] === '^';
  const first = isNegated ? start + 1 : start;
  const ranges: [string, string][] = [];
  const literal = (at: number) => (name[at] === '\\' ? at + 1 : at);
  for (let at = first; at < name.length; at++) {
    if (name[at] === ']' && at > first) return { token: { isNegated, ranges }, end: at };
    const from = literal(at);
    const isRange = name[from + 1] === '-' && name[from + 2] !== ']';
    at = isRange ? literal(from + 2) : from;
    if (at < name.length) ranges.push([name[from]!, name[at]!]);
  }
  return undefined;
}

function matchesPath(segments: Pattern['segments'], names: readonly string[], steps: Steps): boolean {
  // Which names may come next, after the segments so far, in their order: `**` may take any number of them.
  let open = [0];
  for (const [index, segment] of segments.entries()) {
    steps.spend(1 + names.length);
    const isLast = index === segments.length - 1;
    if (segment === '**') {
      const first = open[0]! + (isLast ? 1 : 0);
      open = names
        .map((_, at) => at)
        .concat(names.length)
        .slice(first);
    } else
      open = open.flatMap(at =>
        at < names.length && matchesName(segment, names[at]!, steps) ? [at + 1] : [],
      );
    if (open.length === 0) return false;
  }
  return open.at(-1) === names.length;
}

/** A `*` is only ever gone back to where it is the last one, so it takes no more than the product of both lengths. */
function matchesName(tokens: readonly Token[], name: string, steps: Steps): boolean {
  let [at, token, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    steps.spend(costOf(tokens[token]));
    if (tokens[token] === '*') [star, starAt] = [token++, at];
    else if (token < tokens.length && matchesCharacter(tokens[token]!, name[at]!))
      [at, token] = [at + 1, token + 1];
    else if (star >= 0) [at, token] = [++starAt, star + 1];
    else return false;
  }
  while (tokens[token] === '*') token++;
  return token === tokens.length;
}

function costOf(token: Token | undefined): number {
  return typeof token === 'object' ? 1 + token.ranges.length : 1;
}

function matchesCharacter(token: Token, character: string): boolean {
  if (typeof token === 'string') return true;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.isNegated;
}
