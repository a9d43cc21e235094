import { expect, test } from 'vitest';
import { type SourceStatus, WatchHealth } from './clusterfeed.ts';

/** The reports about attempts that fail for these reasons; `ok` is an attempt that the server answers. */
function told(...tries: readonly string[]): string[] {
  const statuses: SourceStatus[] = [];
  const health = new WatchHealth('Pod', status => statuses.push(status));
  for (const each of tries) health.set(each === 'ok', each === 'ok' ? undefined : new Error(each));
  return statuses.map(({ state, reason }) => (reason === undefined ? state : `${state}: ${reason}`));
}

test.each([
  ['once, however often it is tried', ['403', '403', '403'], ['lost: 403']],
  [
    'again for another reason that lasts',
    ['ok', '403', '403', 'refused', 'refused', 'refused'],
    ['synced', 'lost: 403', 'lost: refused'],
  ],
  [
    'again when the first reason is back',
    ['403', 'refused', 'refused', '403', '403'],
    ['lost: 403', 'lost: refused', 'lost: 403'],
  ],
  [
    'once, for reasons that change with each try',
    ['403 (a)', '403 (b)', '403 (c)', '403 (d)'],
    ['lost: 403 (a)'],
  ],
  [
    'from the beginning after it was back',
    ['ok', '403', 'refused', 'ok', 'refused', 'refused'],
    ['synced', 'lost: 403', 'recovered', 'lost: refused'],
  ],
])('that a source is lost is told %s', (_, tries, expected) => {
  expect(told(...tries)).toEqual(expected);
});

test('a cut that the next try mends is not told', () => {
  const statuses: SourceStatus[] = [];
  const health = new WatchHealth('Pod', status => statuses.push(status));
  health.set(true);
  health.set(false);
  health.set(true);
  expect(statuses).toEqual([{ source: 'Pod', state: 'synced' }]);
});
