import { expect, test } from 'vitest';
import { MEMBER, type SetSpec } from '../ruleset.ts';
import type { Op } from './op.ts';
import { stagesOf } from './stages.ts';

const set = (name: string, interval: boolean): SetSpec => ({
  name,
  key: ['ipv4_addr'],
  verdicts: false,
  interval,
});
const make = (name: string, interval: boolean): Op[] => [
  { op: 'addSet', family: 'ip', set: set(name, interval), size: 8 },
  { op: 'addElements', family: 'ip', set: set(name, interval), elements: [['10.0.0.0', MEMBER]] },
];
const flush: Op = { op: 'flushChain', family: 'ip', chain: 'in' };
const fill: Op = { op: 'addRule', family: 'ip', chain: 'in', rule: { exprs: [] } };
const remove = (name: string): Op => ({ op: 'delSet', family: 'ip', set: name });

test('stagesOf() leaves a batch whole that makes no interval set', () => {
  const ops = [flush, ...make('pods', false), fill];
  expect(stagesOf(ops)).toEqual([ops]);
});

test('stagesOf() puts new interval sets and their elements ahead, and keeps the order of all else', () => {
  expect(stagesOf([flush, remove('old'), ...make('new', true), ...make('pods', false), fill])).toEqual([
    make('new', true),
    [flush, remove('old'), ...make('pods', false), fill],
  ]);
});

test('stagesOf() puts a new table ahead of what goes into it', () => {
  const table: Op = { op: 'addTable', family: 'ip' };
  expect(stagesOf([table, ...make('new', true), fill])).toEqual([[table, ...make('new', true)], [fill]]);
});

test('stagesOf() leaves a batch whole that makes an interval set anew under its name', () => {
  const ops = [flush, remove('nets'), ...make('nets', true), fill];
  expect(stagesOf(ops)).toEqual([ops]);
});

test('stagesOf() leaves a batch whole that replaces a table', () => {
  const ops: Op[] = [
    { op: 'delTable', family: 'ip' },
    { op: 'addTable', family: 'ip' },
    ...make('nets', true),
  ];
  expect(stagesOf(ops)).toEqual([ops]);
});

test('stagesOf() puts the chains that a new interval map leads to ahead with it, and their rules behind', () => {
  const spec: SetSpec = { name: 'ranges', key: ['inet_service'], verdicts: true, interval: true };
  const chain = (name: string): Op => ({ op: 'addChain', family: 'ip', chain: name });
  const map: Op[] = [
    { op: 'addSet', family: 'ip', set: spec, size: 8 },
    {
      op: 'addElements',
      family: 'ip',
      set: spec,
      elements: [['1-9', { verdict: { kind: 'jump', chain: 'from' } }]],
    },
  ];
  expect(stagesOf([chain('from'), chain('in'), ...map, fill])).toEqual([
    [chain('from'), ...map],
    [chain('in'), fill],
  ]);
});
