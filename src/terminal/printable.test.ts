import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeColours, toTerminal } from './colours.ts';
import { printable, printableJson } from './printable.ts';

/** Characters that a terminal does not show as themselves, among some that it does. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      ...['\x1b', '\x1b[2J', '\x9b', '\r', '\n', '\b', '\x00', '\x7f'],
      ...['\u202e', '\u2066', '\u200b', '\u2028', '\ufeff', '\u{e0041}', '\ud800', '\udc00'],
      ...['\u3164', '\ufe0f', '\u{e0100}', '\u2800', '\u00a0', '\u3000'],
      ...['a', '[31m', 'é', '日', '🙂', '\\', '"', '\u{f0000}'],
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});
const UNPRINTABLE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/u;

test.each([
  ['shop/web', 'shop/web'],
  ['\x1b[31mred', '\\x1b[31mred'],
  ['a\nb\tc', 'a\\x0ab\\x09c'],
  ['\x9b2J', '\\x9b2J'],
  ['user\u202etxt', 'user\\u{202e}txt'],
  ['日本 é 🙂', '日本 é 🙂'],
  ['web\u3164', 'web\\u{3164}'],
  ['w\ufe0feb\u2800', 'w\\u{fe0f}eb\\u{2800}'],
  ['a\u00a0b\u3000c d', 'a\\xa0b\\u{3000}c d'],
])('printable(%j)', (text, shown) => expect(printable(text)).toBe(shown));

test('printable() leaves no character that does not show itself, and shows what it has shown already as it is', () => {
  fc.assert(
    fc.property(hostile, text => {
      expect(printable(text)).not.toMatch(UNPRINTABLE);
      expect(printable(printable(text))).toBe(printable(text));
    }),
  );
});

test('printableJson() reads back as the same value, and shows itself', () => {
  fc.assert(
    fc.property(fc.array(hostile), texts => {
      const value = Object.fromEntries(texts.map((text, at) => [text, texts.slice(at)]));
      expect(printableJson(value)).not.toMatch(UNPRINTABLE);
      expect(JSON.parse(printableJson(value))).toEqual(value);
    }),
  );
});

/** The escape sequences that picocolors writes for the colours below. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escapes are what is looked for
const OURS = /\x1b\[(?:1|2|22|31|39)m/g;

test('toTerminal() lets our own colours through and nobody else’s, in whatever way they are nested', () => {
  const { red, bold, dim } = makeColours(true);
  fc.assert(
    fc.property(hostile, hostile, hostile, (a, b, c) => {
      const line = toTerminal(`${a}${red(b)} ${bold(red(dim(c)))}`);
      expect(line.match(OURS)).toHaveLength(8);
      expect(line.replace(OURS, '')).toBe(`${printable(a)}${printable(b)} ${printable(c)}`);
    }),
  );
});

test('toTerminal() writes a colour as the terminal wants it', () => {
  expect(toTerminal(makeColours(true).red('no'))).toBe('\x1b[31mno\x1b[39m');
  expect(toTerminal(makeColours(false).red('\x1b[32myes'))).toBe('\\x1b[32myes');
});
