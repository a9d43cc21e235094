/**
 * What is a key, a comment or punctuation in YAML, line by line. A whole parser would parse all lines above those in sight
 * and build their tree anew after each key, which in a large file takes longer than a frame may take.
 */
import { StreamLanguage, type StringStream } from '@codemirror/language';

interface State {
  /** Where the text of the last line begins, after its dashes: the next line begins there, too. */
  readonly column: number;
  /** The block of text after `key: |`, as long as its lines are indented further than the key. */
  readonly block: { readonly within: number; readonly column?: number } | undefined;
}

export const YAML = StreamLanguage.define<{ now: State }>({
  name: 'yaml',
  startState: () => ({ now: { column: 0, block: undefined } }),
  token: (stream, state) => {
    if (!stream.sol()) return tokenOf(stream, state);
    const isText = state.now.block !== undefined && isInBlock(stream, state.now.block);
    state.now = isText ? inBlock(stream, state.now) : { column: contentColumn(stream), block: undefined };
    if (!isText) return tokenOf(stream, state);
    stream.skipToEnd();
    return 'string';
  },
  indent: ({ now: { column, block } }, _, { unit }) =>
    block === undefined ? column : (block.column ?? block.within + unit),
  languageData: { commentTokens: { line: '#' } },
});

function isInBlock(stream: StringStream, { within }: { readonly within: number }): boolean {
  return /^\s*$/.test(stream.string) || stream.indentation() > within;
}

function inBlock(stream: StringStream, { column, block }: State): State {
  const isFirst = block?.column === undefined && /\S/.test(stream.string);
  return isFirst
    ? { column, block: { within: block!.within, column: stream.indentation() } }
    : { column, block };
}

function contentColumn({ string }: StringStream): number {
  return /^(?: |-(?= ))*/.exec(string)![0].length;
}

const SEPARATOR = /^(?:---|\.\.\.)(?=\s|$)/;
const COMMENT = /^#.*/;
const KEY = /^(?:[\w./$-]+|"[^"]*"|'[^']*')(?=:(?:\s|$))/;
const QUOTED = /^(?:"(?:[^"\\]|\\.)*"?|'[^']*'?)/;
const PUNCTUATION = /^(?:[,:?-](?=\s|$)|[,[\]{}])/;
const MARK = /^[&*!][^\s,[\]{}]*/;
const BLOCK = /^[|>][\d+-]*(?=\s*(?:#.*)?$)/;
const PLAIN = /^[^\s,[\]{}]+/;

function tokenOf(stream: StringStream, state: { now: State }): string | null {
  if (stream.eatSpace()) return null;
  if (stream.sol() && stream.match(SEPARATOR)) return 'meta';
  if (stream.match(KEY)) return 'propertyName';
  if (stream.match(PUNCTUATION)) return 'punctuation';
  if (stream.match(QUOTED)) return 'string';
  if (stream.sol() || /\s/.test(stream.string[stream.pos - 1]!)) {
    if (stream.match(COMMENT)) return 'comment';
    if (stream.match(MARK)) return 'meta';
    if (stream.match(BLOCK)) {
      const { column } = state.now;
      state.now = { column, block: { within: column } };
      return 'meta';
    }
  }
  if (!stream.match(PLAIN)) stream.next();
  return null;
}
