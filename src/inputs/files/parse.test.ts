import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { parseManifest } from './parse.ts';
import { ParseError, parseYaml } from './yaml.ts';

describe('parseManifest() reads as kubectl does', () => {
  test.each<[string, string, unknown[]]>([
    [
      'several documents, empty ones left out',
      '---\na: 1\n---\n# nothing\n---\nb: 2\n',
      [{ a: 1 }, { b: 2 }],
    ],
    ['no document', '', []],
    ['comments alone', '# nothing\n', []],
    ['booleans of YAML 1.1', 'a: yes\nb: off\nc: "yes"\n', [{ a: true, b: false, c: 'yes' }]],
    ['octal numbers', 'a: 0644\n', [{ a: 0o644 }]],
    ['a port mapping is text', 'a: 22:22\n', [{ a: '22:22' }]],
    [
      'a time is text',
      'a: 2026-01-01T00:00:00Z\nb: 2026-01-01\n',
      [{ a: '2026-01-01T00:00:00Z', b: '2026-01-01' }],
    ],
    ['anchors and merge keys', 'a: &x { b: 1 }\nc: { <<: *x, d: 2 }\n', [{ a: { b: 1 }, c: { b: 1, d: 2 } }]],
    ['JSON', '{"a": [1, "x", null, true]}', [{ a: [1, 'x', null, true] }]],
    ['JSON with comments is YAML', '{"a": 1} # one\n', [{ a: 1 }]],
    [
      'a key that JSON has in two maps',
      '{"a": {"b": 1}, "c": {"b": "{\\"b\\": 2"}}',
      [{ a: { b: 1 }, c: { b: '{"b": 2' } }],
    ],
    ['Windows’ line ends', 'a: 1\r\nb: 2\r\n', [{ a: 1, b: 2 }]],
    ['a byte order mark', '\ufeffa: 1\n', [{ a: 1 }]],
  ])('%s', (_, text, expected) => {
    expect(parseManifest(text).map(({ value }) => value)).toEqual(expected);
  });
});

describe('parseManifest() refuses, with the line,', () => {
  test.each<[string, string, string, number | undefined]>([
    ['a bracket that stays open', 'a: [1,\n', 'Flow sequence', 2],
    ['bad indentation', 'a:\n  b: 1\n c: 2\n', 'All mapping items must start at the same column', 3],
    ['a tab', 'a:\n\tb: 1\n', 'Tabs', 2],
    ['a key that comes twice', 'spec:\n  a: 1\n  b: 2\n  a: 3\n', 'Map keys must be unique', 4],
    ['a key that comes twice in JSON', '{\n"a": 1,\n"b": {"c": 1, "c" : 2}}', 'has the key "c" twice', 3],
    [
      'a key that ends in a backslash',
      '{"a\\\\": 1, "b\\"": 2,\n"a\\\\" : 3}',
      'has the key "a\\\\" twice',
      2,
    ],
    [
      'a key behind megabytes of text',
      `{"a": "${'x'.repeat(12_000_000)}",\n"a": 1}`,
      'has the key "a" twice',
      2,
    ],
    ['a key that JSON writes in two ways', '{"a": 1, "\\u0061": 2}', 'has the key "a" twice', 1],
    ['an alias of nothing', 'a: *x\n', 'Unresolved alias', undefined],
    ['a tag that nobody knows', 'a: !!timestamp 2026-01-01\n', 'Unresolved tag', 1],
  ])('%s', (_, text, message, line) => {
    const error = thrown(() => parseManifest(text));
    expect(error).toBeInstanceOf(ParseError);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('\n');
    if (line !== undefined) expect(error.line).toBe(line);
  });

  test('aliases that would be gigabytes when written out', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 10; i++)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(thrown(() => parseManifest(lines.join('\n'))).message).toContain('Excessive alias count');
  });

  test('nesting that is deeper than the stack', () => {
    for (const text of [`a: ${'['.repeat(20_000)}`, '- '.repeat(20_000)])
      expect(thrown(() => parseManifest(text)).message).toBe('is nested too deeply');
  });
});

test('parseManifest() knows the line of a path, or of the didYouMean part around it', () => {
  const [, second] = parseManifest(
    'a: 1\n---\nspec:\n  ingress:\n  - from: []\n  - ports:\n    - port: 80\n',
  );
  expect(second!.lineOf('spec.ingress[1].ports[0].port')).toBe(7);
  expect(second!.lineOf('spec.ingress[1].from')).toBe(6);
  expect(second!.lineOf('nothing')).toBe(3);
});

function thrown(run: () => unknown): ParseError {
  try {
    run();
  } catch (error) {
    return error as ParseError;
  }
  throw new Error('nothing was thrown');
}

test('a text in which everything is wrong has one problem, and takes no longer than to read it', () => {
  const many = runs(400_000);
  const texts = [`a: {${'? '.repeat(many)}}`, `a: ${'!x '.repeat(many)}y`, `a: ${'&x '.repeat(many)}`];
  for (const text of texts) expect(parseYaml(text)).toEqual([expect.any(ParseError)]);
});
