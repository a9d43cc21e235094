import { expect, test } from 'vitest';
import { inColour } from './colours.ts';

const terminal = { isTTY: true };
const pipe = {};

test('a terminal is written to in colour, a pipe is not, whatever CI says', () => {
  expect(inColour({}, terminal)).toBe(true);
  expect(inColour({ CI: 'true', TERM: 'xterm' }, pipe)).toBe(false);
  expect(inColour({ TERM: 'dumb' }, terminal)).toBe(false);
});

test('NO_COLOR and FORCE_COLOR say more than the terminal, and NO_COLOR says it first', () => {
  expect(inColour({ NO_COLOR: '1' }, terminal)).toBe(false);
  expect(inColour({ FORCE_COLOR: '1' }, pipe)).toBe(true);
  expect(inColour({ FORCE_COLOR: '0' }, terminal)).toBe(false);
  expect(inColour({ FORCE_COLOR: '1', NO_COLOR: '1' }, pipe)).toBe(false);
});
