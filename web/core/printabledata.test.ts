import { expect, test } from 'vitest';
import { printableData, Verbatim } from './printabledata.ts';

test('texts and keys of an answer become printable, and what is to be saved stays as it is', () => {
  const cells = new Uint32Array([1]);
  const shown = printableData({
    name: 'a\u202eb',
    list: ['\x1b[2J'],
    'k\0': 1,
    yaml: new Verbatim('a\nb'),
    cells,
    none: null,
  });
  expect(shown).toEqual({
    name: 'a\\u{202e}b',
    list: ['\\x1b[2J'],
    'k\\x00': 1,
    yaml: { verbatim: 'a\nb' },
    cells,
    none: null,
  });
});

test('a label with the name verbatim is printable like all others', () => {
  const labels = { verbatim: ['a\u202eb'] };
  expect(printableData({ labels })).toEqual({ labels: { verbatim: ['a\\u{202e}b'] } });
});
