import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLogLine, shownLogLine } from './logline.ts';

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\x1b[2J', '\n', '\x9b', '\u202e', '\\', '\\n', '\\u001b', '"', '/', 'a', '日'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

test('a line of the log means the same and shows itself', () => {
  fc.assert(
    fc.property(text, text, (msg, pod) => {
      const line = jsonLogLine(`${JSON.stringify({ msg, pod })}\n`);
      expect(JSON.parse(line)).toEqual({ msg, pod });
      expect(line.slice(0, -1)).not.toMatch(UNPRINTABLE);
      expect(line.endsWith('}\n')).toBe(true);
    }),
  );
});

test('what a writer for people reads from a line holds nothing that a terminal obeys', () => {
  fc.assert(
    fc.property(text, text, (msg, pod) => {
      const read = JSON.parse(shownLogLine(`${JSON.stringify({ msg, pod })}\n`)) as Record<string, string>;
      expect(Object.keys(read)).toEqual(['msg', 'pod']);
      for (const shown of Object.values(read)) expect(shown).not.toMatch(UNPRINTABLE);
    }),
  );
});

test('plain messages stay as they are', () => {
  const line = '{"level":30,"msg":"NetworkPolicy shop/web: \\"x\\" is no port"}\n';
  expect(shownLogLine(line)).toBe(line);
});
