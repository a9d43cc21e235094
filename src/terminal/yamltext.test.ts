import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { runs } from '../../test/support/seed.ts';
import { isPrintable } from './printable.ts';
import { yamlText } from './yamltext.ts';

test('yamlText() reads back as what it was, and shows nothing that does not show itself', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), value => {
      const text = yamlText(value);
      expect(parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(isPrintable(text.replaceAll('\n', ''))).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

test('yamlText() is what a person reads', () => {
  expect(yamlText({ kind: 'Version', at: undefined, names: ['a\x1b[2J', '\u202eb'], verdict: 'allow' })).toBe(
    'kind: Version\nnames:\n  - "a\\e[2J"\n  - "\\u202eb"\nverdict: allow\n',
  );
});

test('yamlText() leaves texts what they are to whoever reads YAML 1.1, as kubectl does', () => {
  const words = [
    'on',
    'off',
    'y',
    'N',
    'yes',
    'No',
    '012',
    '0b11',
    '1_000',
    '1_0.5',
    '2001-01-01',
    '1e3',
    '~',
  ];
  const labels = Object.fromEntries(
    words.flatMap(word => [
      [`of-${word}`, word],
      [word, 'x'],
    ]),
  );
  expect(parse(yamlText({ labels, words }), { version: '1.1' })).toEqual({ labels, words });
  expect(yamlText(['0X1F', '0O17', '0B1'])).toBe('- "0X1F"\n- "0O17"\n- "0B1"\n');
});

test('yamlText() writes a remark as a comment beside its text, which no value is changed by', () => {
  const object = { to: [{ ipBlock: { cidr: '192.0.2.7/32' } }], from: ['::/0'] };
  const text = yamlText(object, new Map([['192.0.2.7/32', 'api.example.com']]));
  expect(text).toContain('cidr: 192.0.2.7/32 # api.example.com\n');
  expect(parse(text)).toEqual(object);
});
