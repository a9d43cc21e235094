import { expect, test } from 'vitest';
import { parseManifest } from '../../src/inputs/files/parse.ts';
import { POINTS } from './startpoints.ts';

test.each(POINTS)('$title means a namespace whose name is a number in YAML', ({ make }) => {
  const [{ value } = { value: undefined }] = parseManifest(make('123'));
  const text = JSON.stringify(value);
  expect(text).toContain('"123"');
  expect(text).not.toMatch(/[:[,]123\b/);
});
