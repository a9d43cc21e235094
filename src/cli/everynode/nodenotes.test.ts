import { expect, test } from 'vitest';
import { NodeNotes } from './nodenotes.ts';

test('a node that says without end has some lines, and the next one tells how many it had no line for', () => {
  const lines: string[] = [];
  const notes = new NodeNotes('n1', text => lines.push(text));
  for (let n = 0; n < 1_000; n++) notes.take(`warning ${n}`, 0);
  expect(lines).toHaveLength(20);
  expect(lines[0]).toBe('node n1: warning 0');
  notes.take('later', 60_000);
  expect(lines.at(-1)).toBe('node n1: later (and 980 notes before it)');
  notes.take('and again', 60_000);
  expect(lines.at(-1)).toBe('node n1: and again');
});

test('a long note is cut', () => {
  const lines: string[] = [];
  new NodeNotes('n1', text => lines.push(text)).take('x'.repeat(100_000), 0);
  expect(lines[0]).toBe(`node n1: ${'x'.repeat(500)}…`);
});
