import { expect, test } from 'vitest';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';
import { Readability } from './apiserversource.ts';

const at = (states: readonly (readonly [number, SourceStatus['state'], string?])[], nowMs: number) => {
  const readability = new Readability();
  for (const [ms, state, source = 'Pod'] of states) readability.onSource({ source, state }, ms);
  return readability.wasReadWithin(1000, nowMs);
};

test.each<[string, Parameters<typeof at>[0], number, boolean]>([
  ['never read', [], 0, false],
  ['refused from the first try on', [[0, 'lost']], 1, false],
  ['of which something else was read', [[0, 'synced', 'Node']], 1, false],
  ['that can be read, for however long nothing was said', [[0, 'synced']], 1_000_000, true],
  [
    'lost just before',
    [
      [0, 'synced'],
      [5000, 'lost'],
    ],
    6000,
    true,
  ],
  [
    'lost long before',
    [
      [0, 'synced'],
      [5000, 'lost'],
    ],
    6001,
    false,
  ],
  [
    'lost long before, and again for another reason',
    [
      [0, 'synced'],
      [5000, 'lost'],
      [5900, 'lost'],
    ],
    6001,
    false,
  ],
  [
    'recovered',
    [
      [0, 'synced'],
      [5000, 'lost'],
      [9000, 'recovered'],
    ],
    60_000,
    true,
  ],
])('a cluster %s', (_, states, nowMs, expected) => {
  expect(at(states, nowMs)).toBe(expected);
});
