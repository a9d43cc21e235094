import { expect, test } from 'vitest';
import { NO_DENIALS } from '../../api/health/agentchecks.ts';
import { leftOutLines, missing, summaryLines } from './text.ts';

const limits = { perSource: { perSecond: 2, burst: 20 }, inAll: { perSecond: 50, burst: 200 } };
const NAMED = { ...NO_DENIALS, limits, denied: 9, handed: 3, attempts: 2 };

test.each([
  ['all have names', NAMED, []],
  ['nobody asked for names', NO_DENIALS, ['denied connections: none is named (sluice agent --denials=0)']],
  ['another process reads them', { ...NAMED, error: 'busy' }, ['denied connections are not named: busy']],
  [
    'Services cannot be read, which status says',
    { ...NAMED, services: { known: 0, problem: 'forbidden' } },
    [],
  ],
  ['Services are known', { ...NAMED, services: { known: 7 } }, []],
])('missing() says what is not named: %s', (_, facts, lines) => {
  expect(missing(facts)).toEqual(lines);
});

test('the summary says what the limits left out, and why there are no names', () => {
  expect(summaryLines(NAMED, 2)).toEqual([
    '',
    '2 connection attempts named; 9 packets denied since the agent started, 6 of them beyond the limits and not named',
  ]);
  expect(summaryLines({ ...NAMED, error: 'busy' }, 0)).toEqual(['denied connections are not named: busy']);
});

test.each([
  [
    'the limits',
    { ...NAMED, lost: 1 },
    ['9 packets denied since the agent started, 6 of them beyond the limits and not named, 1 not read'],
  ],
  ['nothing', { ...NAMED, handed: 9 }, []],
  ['all, which is said elsewhere', { ...NO_DENIALS, denied: 9 }, []],
])('leftOutLines() says what was left out: by %s', (_, facts, lines) => {
  expect(leftOutLines(facts)).toEqual(lines);
});

test('the summary says in the same sentence what the agent does not know', () => {
  const [line] = summaryLines(NAMED, 0, ['namespace shp', 'policy cnp:x']);
  expect(line).toBe('no denied connection, and the agent knows no namespace shp and no policy cnp:x');
  expect(summaryLines(NAMED, 0)[0]).toBe('no denied connection');
});
