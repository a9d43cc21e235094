import { ensureSyntaxTree, getIndentation } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { expect, test } from 'vitest';
import { YAML } from './yamlcolours.ts';

/** The coloured parts of a text: `propertyName kind`. */
function coloured(text: string): readonly string[] {
  const state = EditorState.create({ doc: text, extensions: [YAML] });
  const found: string[] = [];
  ensureSyntaxTree(state, text.length)!.iterate({
    enter: ({ name, from, to, node }) => {
      if (node.firstChild === null && name !== 'Document') found.push(`${name} ${text.slice(from, to)}`);
    },
  });
  return found;
}

const keys = (text: string) => coloured(text).filter(each => each.startsWith('propertyName '));

test.each([
  ['kind: Pod', ['propertyName kind', 'punctuation :']],
  [
    '- { app.kubernetes.io/name: "a: b" }',
    [
      'punctuation -',
      'punctuation {',
      'propertyName app.kubernetes.io/name',
      'punctuation :',
      'string "a: b"',
      'punctuation }',
    ],
  ],
  ['---\n# key: value', ['meta ---', 'comment # key: value']],
  ['url: http://a.b/#c', ['propertyName url', 'punctuation :']],
])('%s', (text, expected) => {
  expect(coloured(text)).toEqual(expected);
});

test('a block of text has no keys, and ends where a line is not indented further', () => {
  const text = '- script: |\n    first: 1\n\n      second: 2\n  after: >-\n    third: 3\nlast: 4';
  expect(keys(text)).toEqual(['script', 'after', 'last'].map(key => `propertyName ${key}`));
});

test.each([
  ['spec:\n', 0],
  ['  - from:\n', 4],
  ['- - a: 1\n', 4],
  ['script: |\n', 2],
  ['script: |\n     one\n', 5],
])('after %j the next line begins at %i', (text, column) => {
  const state = EditorState.create({ doc: text, extensions: [YAML] });
  ensureSyntaxTree(state, text.length);
  expect(getIndentation(state, text.length)).toBe(column);
});
