/** The fast reader of plain YAML gives the same answers as the parser that knows positions. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { runs } from '../../../test/support/seed.ts';
import { parsePlain } from './plainyaml.ts';
import { ParseError, parseAnyYaml } from './yaml.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Checks that both parsers agree, and returns whether the fast one read the text. */
function isReadAlike(text: string): boolean {
  const plain = parsePlain(text);
  if (plain === undefined) return false;
  const whole = parseAnyYaml(text).map(each => (each instanceof ParseError ? each : each.value));
  expect(plain, JSON.stringify(text)).toEqual(whole);
  return true;
}

const FILES = globSync('{examples,test/fixtures,test/scenarios,daemonset}/**/*.yaml', { cwd: ROOT });

test('it reads most files of this repository, as they are', () => {
  const read = FILES.filter(file => isReadAlike(readFileSync(join(ROOT, file), 'utf8')));
  // Most files that it does not read have anchors: they are our own tests, and short.
  expect(read.length).toBeGreaterThan(FILES.length / 2);
});

describe('it reads', () => {
  test.each<[string, string, unknown[]]>([
    [
      'a list at the column of its key',
      'a:\n- b: 1\n  c: 2\n- d\ne: f\n',
      [{ a: [{ b: 1, c: 2 }, 'd'], e: 'f' }],
    ],
    ['lists in lists', '- - a\n  - b\n-\n  - c\n', [[['a', 'b'], ['c']]]],
    ['nothing', 'a:\nb: # none\nc: ~\n', [{ a: null, b: null, c: null }]],
    ['documents', '---\na: 1\n---\n---\n# none\n---\nb: 2', [{ a: 1 }, { b: 2 }]],
    ['a literal', 'a: |\n  {"b":\n\n    1}\nc: |-\n  # d\n', [{ a: '{"b":\n\n  1}\n', c: '# d' }]],
    [
      'what is folded',
      "a: b\n  c\nd: 'e''s\n  f: g'\nh: \"i\n  j\"\n",
      [{ a: 'b c', d: "e's f: g", h: 'i j' }],
    ],
    ['flow', 'a: { b: [1, "x, y"], c: {} } # d\n', [{ a: { b: [1, 'x, y'], c: {} } }]],
    ['escapes of JSON', 'a: "\\u00e4\\n\\""\n', [{ a: 'ä\n"' }]],
    [
      'addresses, times and quantities',
      'a: 10.0.0.1\nb: fd00::1\nc: 2026-01-01T00:00:00Z\nd: 10m\ne: 0.5\n',
      [{ a: '10.0.0.1', b: 'fd00::1', c: '2026-01-01T00:00:00Z', d: '10m', e: 0.5 }],
    ],
  ])('%s', (_, text, expected) => {
    expect(parsePlain(text)).toEqual(expected);
    expect(isReadAlike(text)).toBe(true);
  });
});

test.each([
  'a: yes',
  'a: 010',
  'a: 1e3',
  'a: 0x1f',
  'a: 1_000',
  'a: .5',
  'a: -0',
  'a: e5',
  'a: !!str b',
  'a: &b c',
  'a: *b',
  'a:\tb',
  'a: b\r\n',
  'a: b: c',
  'a: 1\na: 2',
  '<<: a',
  'a: [b',
  '- a\nb: c',
  ' a: b\nc: d',
  'a: "b\\\n  c"',
  'a: b\n  c #d\n  e',
  'a: b #c\n  d',
  'a: |\n    b\n  c: d\n',
  '%YAML 1.1\n---\na: b',
  '...',
  '__proto__: a',
  '? a',
  '1: a',
  ': a',
  'a: @b',
  'a:\n  b: 1\n c: 2',
])('it leaves %j to the parser of all of YAML', text => {
  expect(parsePlain(text)).toBeUndefined();
});

const NAME = fc.stringMatching(/^[a-z][a-z0-9./:_-]{0,11}[a-z]$/);
const ODD = [
  'yes',
  'null',
  '~',
  '010',
  '1e5',
  '0x10',
  '.5',
  '22:22',
  '',
  ' a',
  'a ',
  'a: b',
  'a #b',
  '#a',
  '- a',
];
const WORDS = ['the', "pod's", 'image', '"x"', 'a:', '#1', '\n', '  '];
const word = fc.oneof(
  { weight: 16, arbitrary: NAME },
  { weight: 4, arbitrary: fc.array(NAME, { maxLength: 30 }).map(words => words.join(' ')) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map(words => words.join(' ')),
  },
);
const key = fc.oneof({ weight: 40, arbitrary: NAME }, { weight: 1, arbitrary: word });
const { map: document } = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    word,
    fc.integer(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true, min: -10, max: 10 })
      .map(each => Math.round(each * 10) / 10),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  map: fc.dictionary(key, tie('value'), { minKeys: 1, maxKeys: 4 }),
}));

test('what a printer of YAML writes', () => {
  const style = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    lineWidth: fc.constantFrom(0, 20, 80),
    version: fc.constantFrom('1.1' as const, '1.2' as const),
    defaultStringType: fc.constantFrom('PLAIN' as const, 'QUOTE_DOUBLE' as const, 'QUOTE_SINGLE' as const),
    collectionStyle: fc.constantFrom('any' as const, 'block' as const, 'flow' as const),
  });
  let read = 0;
  fc.assert(
    fc.property(document, style, (value, options) => {
      if (isReadAlike(stringify(value, options))) read++;
    }),
    { numRuns: runs(1500) },
  );
  expect(read).toBeGreaterThan(runs(500));
});

const piece = fc.constantFrom(
  'a',
  'b',
  'c d',
  ':',
  ': ',
  '- ',
  '-',
  '\n',
  '\n  ',
  '\n    ',
  '\n- ',
  '\n  - ',
  ' ',
  '"',
  "'",
  '#',
  ' #',
  '|',
  '|-',
  '>',
  '{',
  '}',
  '[',
  ']',
  ',',
  ', ',
  '1',
  '0',
  '.',
  'yes',
  'null',
  '---',
  '\n---\n',
  '\\',
  '\\n',
  '~',
  '<<',
  '*a',
  '&a ',
  '!',
  '%',
  '?',
  '? ',
  '@',
  'ä',
  'a: ',
  '\nb: ',
  '\n  c: ',
  '"x"',
  "'y'",
);

test('what nobody would write', () => {
  let read = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), pieces => {
      if (isReadAlike(pieces.join(''))) read++;
    }),
    { numRuns: runs(6000) },
  );
  expect(read).toBeGreaterThan(runs(100));
});

test('files that were damaged', () => {
  const texts = FILES.slice(0, 40).map(file => readFileSync(join(ROOT, file), 'utf8').slice(0, 3000));
  const damage = fc.record({
    text: fc.constantFrom(...texts),
    at: fc.nat(2999),
    cut: fc.nat(3),
    put: fc.oneof(piece, fc.constant('')),
  });
  fc.assert(
    fc.property(damage, ({ text, at, cut, put }) => {
      isReadAlike(`${text.slice(0, at)}${put}${text.slice(at + cut)}`);
    }),
    { numRuns: runs(400) },
  );
});
