import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { isPrintable } from './printable.ts';
import { yamlText } from './yamltext.ts';

test('yamlText() reads back as what it was, and shows nothing that does not show itself', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), value => {
      const text = yamlText(value);
      expect(parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(isPrintable(text.replaceAll('\n', ''))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('yamlText() is what a person reads', () => {
  expect(yamlText({ kind: 'Version', at: undefined, names: ['a\x1b[2J', '\u202eb'], verdict: 'allow' })).toBe(
    'kind: Version\nnames:\n  - "a\\e[2J"\n  - "\\u202eb"\nverdict: allow\n',
  );
});
