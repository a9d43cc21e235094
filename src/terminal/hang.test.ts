import { expect, test } from 'vitest';
import { makeColours, toTerminal } from './colours.ts';
import { HANG, wrapped } from './hang.ts';

const line = `  deny   ${HANG}NetworkPolicy shop/db selects the pod, and no rule of it allows this`;

test('wrapped() hangs what does not fit where the text began', () => {
  expect(wrapped(line, 40).split('\n')).toEqual([
    '  deny   NetworkPolicy shop/db selects',
    '         the pod, and no rule of it',
    '         allows this',
  ]);
});

test('wrapped() hangs by the white space that a line begins with, where nothing else is said', () => {
  expect(wrapped('    one two three four five six', 26)).toBe('    one two three four\n    five six');
});

test('wrapped() leaves a line whole for a pipe, and what fits as it is', () => {
  expect(wrapped(line, undefined)).toBe(line.replace(HANG, ''));
  expect(wrapped(line, 200)).toBe(line.replace(HANG, ''));
});

test('wrapped() begins the text on a line of its own where no room is left beside its head', () => {
  expect(wrapped(`a very long head of a line  ${HANG}and its text, in words`, 30)).toBe(
    'a very long head of a line\n    and its text, in words',
  );
});

test('wrapped() counts no colours, and never breaks one', () => {
  const { red } = makeColours(true);
  const painted = toTerminal(`  ${red('deny ')}  ${HANG}${red('aaa bbb ccc ddd eee fff ggg')}`);
  const lines = wrapped(painted, 29).split('\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  expect(lines.map(text => text.replace(/\x1b\[\d+m/g, ''))).toEqual([
    '  deny   aaa bbb ccc ddd eee',
    '         fff ggg',
  ]);
});
