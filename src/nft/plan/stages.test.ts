import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { MEMBER, type NftRule, type SetSpec } from '../ruleset.ts';
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

const chain = (name: string): Op => ({ op: 'addChain', family: 'ip', chain: name });
const rule = (name: string, ...exprs: NftRule['exprs']): Op => ({
  op: 'addRule',
  family: 'ip',
  chain: name,
  rule: { exprs },
});
const lookUp = (set: string): NftRule['exprs'][number] => ({
  kind: 'lookup',
  set,
  sreg: 0,
  vmap: false,
  invert: false,
});
const to = (chain: string): NftRule['exprs'][number] => ({
  kind: 'verdict',
  verdict: { kind: 'jump', chain },
});
const drop: NftRule['exprs'][number] = { kind: 'verdict', verdict: { kind: 'drop' } };
const POD_MAP: SetSpec = { name: 'ingress-pods', key: ['ipv4_addr'], verdicts: true, interval: false };
const lead = (chain: string): Op => ({
  op: 'addElements',
  family: 'ip',
  set: POD_MAP,
  elements: [['10.0.0.1', { verdict: { kind: 'goto', chain } }]],
});

test.each([
  ['makes nothing new', [flush, fill]],
  ['is new as a whole', [...make('pods', false), chain('new'), rule('new', drop)]],
])('stagesOf() leaves a batch whole that %s', (_, ops) => {
  expect(stagesOf(ops)).toEqual([ops]);
});

test('stagesOf() puts new sets and their elements ahead, and keeps the order of all else', () => {
  expect(stagesOf([flush, remove('old'), ...make('new', true), ...make('pods', false), fill])).toEqual([
    [...make('new', true), ...make('pods', false)],
    [flush, remove('old'), fill],
  ]);
});

test('stagesOf() has the rules of a new chain in force before an element leads to it', () => {
  const made = [chain('in-new'), ...make('peers', false), rule('in-new', lookUp('peers'), drop)];
  expect(stagesOf([...made, lead('in-new')])).toEqual([made, [lead('in-new')]]);
});

test('stagesOf() keeps back objects that lead to a set that is created again, over any number of chains', () => {
  const ops = [
    remove('nets'),
    chain('a'),
    chain('b'),
    chain('c'),
    ...make('nets', true),
    rule('a', lookUp('nets')),
    rule('b', to('a')),
    rule('c', drop),
    lead('b'),
  ];
  const ahead = [chain('c'), rule('c', drop)];
  expect(stagesOf(ops)).toEqual([
    ahead,
    ops.filter(op => !ahead.some(other => isDeepStrictEqual(op, other))),
  ]);
});

test('stagesOf() never commits a base chain early, nor objects that lead to one that is created again', () => {
  const base: Op = {
    op: 'addChain',
    family: 'ip',
    chain: 'forward',
    hook: { hook: 'forward', priority: 0, policy: 'accept' },
  };
  expect(stagesOf([chain('in'), base, rule('in', drop), rule('forward', to('in'))])).toEqual([
    [chain('in'), rule('in', drop)],
    [base, rule('forward', to('in'))],
  ]);
});

test('stagesOf() puts a new table ahead of what goes into it', () => {
  const table: Op = { op: 'addTable', family: 'ip' };
  expect(stagesOf([table, ...make('new', true), fill])).toEqual([[table, ...make('new', true)], [fill]]);
});

test('stagesOf() does not split a batch that creates an interval set again', () => {
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

test('stagesOf() puts the chains that a new interval map leads to ahead with it, rules and all', () => {
  const spec: SetSpec = { name: 'ranges', key: ['inet_service'], verdicts: true, interval: true };
  const map: Op[] = [
    { op: 'addSet', family: 'ip', set: spec, size: 8 },
    {
      op: 'addElements',
      family: 'ip',
      set: spec,
      elements: [['1-9', { verdict: { kind: 'jump', chain: 'from' } }]],
    },
  ];
  const made = [chain('from'), ...map, rule('from', drop)];
  expect(stagesOf([...made, fill])).toEqual([made, [fill]]);
});
