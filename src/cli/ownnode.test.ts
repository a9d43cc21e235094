import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { canRunUs, OLDEST_NODE } from './ownnode.ts';

test.each([
  ['18.20.8', false],
  ['20.20.2', false],
  ['22.0.0', false],
  ['22.18.9', false],
  ['22.19.0', true],
  ['22.20.1', true],
  ['24.1.0', true],
  ['100.0.0', true],
])('canRunUs() says of Node %s: %s', (version, expected) => {
  expect(canRunUs(version)).toBe(expected);
});

test('OLDEST_NODE is what undici, the most demanding library, asks for', () => {
  const { engines } = createRequire(import.meta.url)('undici/package.json');
  expect(engines.node).toBe(`>=${OLDEST_NODE}`);
});
