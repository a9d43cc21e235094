import { expect, test } from 'vitest';
import { parseManifest } from '../../src/inputs/files/parse.ts';
import { POINTS } from './startpoints.ts';

test.each(POINTS)('$title means a namespace whose name is a number in YAML', ({ make }) => {
  const [{ value } = { value: undefined }] = parseManifest(make('123', new Set()));
  const text = JSON.stringify(value);
  expect(text).toContain('"123"');
  expect(text).not.toMatch(/[:[,]123\b/);
});

test.each(POINTS)('$title takes a name that no policy has', ({ make }) => {
  const nameOf = (taken: readonly string[]) => {
    const [{ value } = { value: undefined }] = parseManifest(make('shop', new Set(taken)));
    const { kind, metadata } = value as { kind: string; metadata: { name: string } };
    return kind === 'NetworkPolicy' ? `shop/${metadata.name}` : metadata.name;
  };
  const first = nameOf([]);
  expect(nameOf([first.replace('shop/', 'other/')])).toBe(first.startsWith('shop/') ? first : `${first}-2`);
  expect(nameOf([first])).toBe(`${first}-2`);
  expect(nameOf([first, `${first}-2`])).toBe(`${first}-3`);
});
