import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import { Joined, joinedText } from '../drops/joined.ts';
import { denialObject, denialSaid, flowObject, flowSaid } from '../drops/text.ts';
import { reportOf } from './report.ts';

const end = (text: string) => ({ address: text as Address });
const FLOW: SeenFlow = {
  number: 1,
  atMs: 1_700_000_000_000,
  from: end('10.0.0.1'),
  to: { ...end('10.0.0.2'), pod: 'shop/db' },
  protocol: 'TCP',
  sourcePort: 7,
  port: 80,
  directions: ['ingress'],
  family: 'ip',
};
const DENIAL: Denial = {
  number: 1,
  atMs: 1_700_000_000_000,
  lastMs: 1_700_000_001_000,
  times: 2,
  from: end('10.0.0.1'),
  to: end('10.0.0.2'),
  protocol: 47,
  service: { address: '10.96.0.1' as Address },
  cause: { kind: 'policy', direction: 'ingress', reason: 'because' },
};

test('what an agent prints is the same line and the same object elsewhere, with its node', () => {
  const [flow, denial] = [flowObject(FLOW), denialObject(DENIAL)];
  const [seen, denied] = [flow, denial].map(object => reportOf('n1', JSON.stringify(object))!);
  const node = 'n1';
  expect(seen!.shown.said(false)).toEqual({ ...flowSaid(FLOW), node });
  expect(denied!.shown.said(true)).toEqual({ ...denialSaid(DENIAL, true), node });
  expect([seen!.isMeant({ port: '80' }), seen!.isMeant({ port: '!80' })]).toEqual([true, false]);
  expect([seen!.shown.object(), denied!.shown.object()]).toEqual([
    { ...flow, node: 'n1' },
    { ...denial, node: 'n1' },
  ]);
  expect([seen!.atMs, denied!.node]).toEqual([FLOW.atMs, 'n1']);
});

test('what is sent again is known by the same key, and another attempt is not', () => {
  const keyOf = (denial: Denial) => reportOf('n1', JSON.stringify(denialObject(denial)))!.key;
  expect(keyOf({ ...DENIAL, times: 9, lastMs: DENIAL.lastMs + 5 })).toBe(keyOf(DENIAL));
  expect(keyOf({ ...DENIAL, sourcePort: 5 })).not.toBe(keyOf(DENIAL));
});

const SHORT = { kind: 'Denial', time: '2026-01-01T00:00:00Z', from: end('10.0.0.1'), to: end('10.0.0.2') };

test.each([
  ['a time without a text', { time: { toString: 1, valueOf: 1 } }],
  ['a kind without a text', { kind: { toString: 1 } }],
  ['a kind that every object has', { kind: 'constructor' }],
  ['a long time', { time: `${SHORT.time}${' '.repeat(40)}` }],
  ['a long address', { from: end('1'.repeat(65)) }],
  ['an end that is nothing', { to: null }],
  ['a port that is a text', { port: '80' }],
  ['a long protocol', { protocol: 'T'.repeat(65) }],
])('%s is no report', (_, fields) => {
  const lineOf = (more: object) => JSON.stringify({ ...SHORT, protocol: 'TCP', ...more });
  expect(reportOf('n1', lineOf({}))).toBeDefined();
  expect(reportOf('n1', lineOf(fields))).toBeUndefined();
});

test('a new connection has no key: none is told twice', () => {
  expect(reportOf('n1', JSON.stringify(flowObject(FLOW)))).not.toHaveProperty('key');
});

test('no line of a garbled agent is more than nothing, or a line that cannot be shown', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), garbled()), line => {
      const report = reportOf('n1', line);
      if (report === undefined) return;
      try {
        const joined = new Joined();
        joined.add(report.shown.said(false), 0);
        expect(typeof joinedText(joined.due(0)[0]!, 120)).toBe('string');
        report.isMeant({ namespace: 'shop', from: '!web', to: 'x.test', port: '80' });
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }
    }),
  );
});

function garbled() {
  const kind = fc.constantFrom('Denial', 'SeenFlow', 'Strange');
  const anEnd = fc.oneof(fc.anything(), fc.record({ address: fc.constant('10.0.0.1'), pod: fc.anything() }));
  const time = fc.constantFrom('2026-01-01T00:00:00Z', 'never', 7);
  return fc
    .record({ kind, time, from: anEnd, to: anEnd, protocol: fc.constant('TCP'), directions: fc.anything() })
    .map(value => JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each)));
}
