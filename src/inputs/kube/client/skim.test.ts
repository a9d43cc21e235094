import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../test/support/seed.ts';
import { type Shape, Skimmer, TOO_LARGE } from './skim.ts';

/** The value that is kept of a text that arrives in these pieces. */
function skim(text: string | Uint8Array, shape: Shape, cuts: readonly number[] = [], most?: number): unknown {
  // A word or a number ends where something else begins.
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from('\n')]);
  const skimmer = new Skimmer(shape, 1, most);
  const ends = [...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let from = 0;
  for (const end of ends) {
    skimmer.push(bytes.subarray(from, end));
    from = end;
  }
  return skimmer.value();
}

/** Computes the same from the whole value. */
function project(value: unknown, shape: Shape): unknown {
  if (typeof shape === 'string' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(entry => project(entry, shape));
  const keys = shape as Readonly<Record<string, Shape>>;
  const kept = Object.entries(value).flatMap(([key, member]) => {
    const wanted = Object.hasOwn(keys, key) ? keys[key]! : Object.hasOwn(keys, '*') ? keys['*']! : 'none';
    return wanted === 'none' ? [] : [[key, project(member, wanted)] as const];
  });
  return Object.fromEntries(kept);
}

// None with a backslash: after it, V8 13.6 takes other keys that begin with an escape for the same key.
const KEYS = ['a', 'b', 'items', '__proto__', 'constructor', 'ü', '"', '\n', '\u0000', '*', ''];
const key = fc.constantFrom(...KEYS);
const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
  ),
}));
const { shape } = fc.letrec<{ shape: Shape }>(tie => ({
  shape: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Shape>('all', 'all', 'none'),
    fc
      .array(fc.tuple(key, tie('shape')), { maxLength: 4 })
      .map(entries => Object.fromEntries(entries) as Shape),
  ),
}));
const wanted = shape.filter(shape => shape !== 'none');
/** JSON as different encoders write it, with spaces and escapes. */
const layout = fc.constantFrom<(value: unknown) => string>(
  value => JSON.stringify(value),
  value => JSON.stringify(value, null, 2),
  value =>
    JSON.stringify(value).replace(
      /[^\x20-\x7e]/g,
      char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
);
const cuts = fc.array(fc.nat(), { maxLength: 20 });

test('Skimmer keeps what JSON.parse of the whole would have, however the bytes are cut', () => {
  fc.assert(
    fc.property(json, layout, wanted, cuts, (value, write, shape, cuts) => {
      const text = write(value);
      expect(skim(text, shape, cuts)).toEqual(project(JSON.parse(text), shape));
      expect(skim(text, 'all', cuts)).toEqual(JSON.parse(text));
    }),
    { numRuns: runs(5_000) },
  );
});

test('Skimmer takes one byte after another, and leaves what comes behind the value', () => {
  const text = '{"a":[1,{"b":"}"}],"b":"x"}';
  expect(
    skim(
      text,
      'all',
      [...text].map((_, i) => i),
    ),
  ).toEqual(JSON.parse(text));
  for (const [value, rest] of [
    ['{"a":1}', '\n{}'],
    ['[]', ','],
    ['12', '\n'],
    ['"a"', '"'],
  ]) {
    const skimmer = new Skimmer('all');
    expect(skimmer.push(Buffer.from(value! + rest))).toBe(value!.length);
    expect(skimmer.value()).toEqual(JSON.parse(value!));
  }
});

test('of two equal keys the last one counts, as for JSON.parse', () => {
  const text = '{"a":{"b":1,"c":2},"a":{"c":3}}';
  expect(skim(text, { a: { b: 'all' } })).toEqual({ a: {} });
  expect(skim(text, { a: 'all' })).toEqual(JSON.parse(text));
});

test('Skimmer hands the entries of a list on as they come, and keeps none of them', () => {
  const entries: unknown[] = [];
  const list = { each: { name: 'all' }, emit: (entry: unknown) => void entries.push(entry) } as const;
  const items = Array.from({ length: 50 }, (_, i) => ({ name: `${i}`, spec: [i, { a: 'b' }] }));
  const text = JSON.stringify({ kind: 'List', items, metadata: { resourceVersion: '5' } });
  const kept = skim(text, { kind: 'all', metadata: 'all', items: list }, [1, 50, 51, 500, 700]);
  expect(kept).toEqual({ kind: 'List', items: [], metadata: { resourceVersion: '5' } });
  expect(entries).toEqual(items.map(({ name }) => ({ name })));
});

describe('Skimmer replaces', () => {
  const long = 'x'.repeat(200);
  test.each<[string, unknown, Shape, unknown]>([
    [
      'a text that is too long',
      { a: { b: long, c: 1 } },
      { a: { '*': 'all' } },
      { a: { b: TOO_LARGE, c: 1 } },
    ],
    [
      'a list of too many',
      { a: { b: Array(200).fill(1), c: 1 } },
      { a: { '*': 'all' } },
      { a: { b: TOO_LARGE, c: 1 } },
    ],
    [
      'a map whose members are too many together',
      { a: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'v'])), c: 1 },
      { '*': { '*': 'all' } },
      { a: TOO_LARGE, c: 1 },
    ],
    [
      'a list whose entries keep too much together',
      { a: { b: Array.from({ length: 60 }, () => ({ x: [1], y: long })) }, c: 1 },
      { a: { b: { x: 'all' } }, c: 'all' },
      { a: { b: TOO_LARGE }, c: 1 },
    ],
  ])('%s, and what is beside it stays', (_, value, shape, expected) => {
    const text = JSON.stringify(value);
    for (const cuts of [[], [20, 40, 60, 80, 100, 200, 300], [...text].map((_, i) => i)])
      expect(skim(text, shape, cuts, 100)).toEqual(expected);
  });

  test('nothing that is left out, however large it is', () => {
    const text = JSON.stringify({ a: { big: 'x'.repeat(1_000_000), b: 1 } });
    expect(skim(text, { a: { b: 'all' } }, [], 100)).toEqual({ a: { b: 1 } });
  });
});

test.each([
  ['no value', '<html>'],
  ['a text without an end', '"abc'],
  ['a map without an end', '{"a":1'],
  ['no colon', '{"a" 1}'],
  ['no comma', '{"a":1 "b":2}'],
  ['a key that is none', '{1:2}'],
  ['no member behind a comma', '{"a":1,}'],
  ['another bracket', '{"a":1]'],
  ['a word that is none', '{"a":nothing}'],
  ['nesting that has no end', '['.repeat(20_000)],
  ['nothing', ''],
])('Skimmer throws at %s', (_, text) => {
  expect(() => skim(text, { a: 'all' })).toThrow(/no JSON|ends in the middle/);
  expect(() => skim(text, 'all')).toThrow(/no JSON|ends in the middle/);
});

test('Skimmer reads bytes that are no UTF-8 as the decoder of Node does', () => {
  const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xc3, 0x22, 0x7d]);
  expect(skim(bytes, { a: 'all' }, [6, 7, 8])).toEqual({ a: '\uFFFD\uFFFD' });
});
