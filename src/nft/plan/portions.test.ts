import { expect, test } from 'vitest';
import { type ElementKey, type ElementValue, MEMBER, type SetSpec } from '../ruleset.ts';
import type { Op } from './op.ts';
import { PORTION, portionsOf } from './portions.ts';
import { stagesOf } from './stages.ts';

const spec = (name: string, interval = false): SetSpec => ({
  name,
  key: ['ipv4_addr'],
  verdicts: false,
  interval,
});

const addressed = (i: number): [ElementKey, ElementValue] => [`10.0.${i >> 8}.${i & 255}`, MEMBER];

function put(set: SetSpec, count: number): Op[] {
  const elements = Array.from({ length: count }, (_, i) => addressed(i));
  return [
    { op: 'addSet', family: 'ip', set, size: 8 },
    { op: 'addElements', family: 'ip', set, elements },
  ];
}

const counts = (portions: readonly (readonly Op[])[]) =>
  portions.map(ops => ops.map(op => (op.op === 'addElements' ? op.elements.length : op.op)));

test('portionsOf() leaves a small batch as it is', () => {
  const ops = [...put(spec('a'), 10), ...put(spec('b'), 10)];
  expect(portionsOf(ops, PORTION)).toEqual([ops]);
});

test('portionsOf() cuts the elements of a set that one batch has no room for, and loses none', () => {
  const ops = put(spec('a'), 250);
  const portions = portionsOf(ops, 100);
  expect(counts(portions)).toEqual([['addSet'], [100], [100], [50]]);
  const elements = portions.flat().flatMap(op => (op.op === 'addElements' ? op.elements : []));
  expect(elements).toEqual(Array.from({ length: 250 }, (_, i) => addressed(i)));
});

test('portionsOf() puts up an interval set in one batch, whatever its size', () => {
  expect(counts(portionsOf([...put(spec('a'), 70), ...put(spec('nets', true), 250)], 100))).toEqual([
    ['addSet', 70],
    ['addSet'],
    [250],
  ]);
});

test('portionsOf() keeps the order of all steps', () => {
  const rules = Array.from(
    { length: 35 },
    (): Op => ({ op: 'addRule', family: 'ip', chain: 'c', rule: { exprs: [] } }),
  );
  const ops: Op[] = [{ op: 'addChain', family: 'ip', chain: 'c' }, ...put(spec('a'), 30), ...rules];
  const portions = portionsOf(ops, 100);
  expect(portions.length).toBe(5);
  expect(portions.flat()).toEqual(ops);
});

test('stagesOf() never cuts the batch that makes a difference', () => {
  const pods = { ...spec('ingress-pods'), verdicts: true };
  const change: Op = {
    op: 'addElements',
    family: 'ip',
    set: pods,
    elements: put(pods, 60_000).flatMap(op => (op.op === 'addElements' ? op.elements : [])),
  };
  const stages = stagesOf([...put(spec('a'), 50_000), change]);
  expect(counts(stages)).toEqual([['addSet'], [20_000], [20_000], [10_000], [60_000]]);
});
