/** Classes that are staged in the tables before pods join them. */
import { describe, expect, test } from 'vitest';
import { AWAITED, flushedEngineOf, NODE, readying } from '../../../../test/support/agent/engine.ts';
import { OWN_CLASSES, ofAll, own, PODS } from '../../../../test/support/agent/ownclasses.ts';
import { allowPort, changeOf, ingressPolicy, policyEvent } from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';
import { type Op, objectOf } from '../../../nft/plan/op.ts';
import { plan } from '../../../nft/plan/plan.ts';
import type { Ruleset } from '../../../nft/ruleset.ts';
import { compile } from '../../compile.ts';
import { withPrepared } from '../../prepared.ts';
import type { Incremental } from '../incremental.ts';
import { type TimeBudget, UNLIMITED_TIME } from '../workbudget.ts';

/** Makes every namespace oversized. */
const LIMITS = { mostEntries: 0 };
const before = OWN_CLASSES;

/** Flushes until the change is ready. Returns what each flush changed in the tables. */
function preparing(
  engine: Incremental,
  coming: readonly { value: Policy }[],
  timeBudget = UNLIMITED_TIME,
): Op[][] {
  const changes = coming.map(({ value }) => changeOf(value));
  const flushed = [engine.flush(), ...readying(engine, changes, timeBudget)];
  return flushed.slice(1).map((next, before) => plan(flushed[before]!, next));
}

function takingIn(engine: Incremental, coming: readonly ClusterEvent[]): { ops: Op[]; flushed: Ruleset } {
  const last = engine.flush();
  for (const event of coming) engine.apply(event);
  engine.prepare([]);
  const flushed = wholeOf(engine.flushInPieces());
  return { ops: plan(last, flushed), flushed };
}

const made = (ops: readonly Op[]) => ops.filter(({ op }) => op === 'addChain' || op === 'addRule');

test('the flush that takes a change in finds its chains there, and leads pods to them', () => {
  const engine = flushedEngineOf(before, LIMITS);
  const coming = [ofAll('one', 81), ofAll('two', 82)];
  const ahead = preparing(engine, coming).flat();
  expect(made(ahead).length).toBeGreaterThan(2 * PODS.length);
  expect(ahead.filter(({ op }) => op.startsWith('del'))).toEqual([]);
  const { ops, flushed } = takingIn(engine, coming);
  expect(made(ops)).toEqual([]);
  assertExactly(flushed, clusterOf([...before, ...coming]));
});

test('staged objects are no difference between actual and desired state', () => {
  const engine = flushedEngineOf(before, LIMITS);
  preparing(engine, [ofAll('one', 81)]);
  const programmed = engine.flush();
  expect(() => assertExactly(programmed, clusterOf(before))).toThrow('not what compile makes');
  expect(plan(programmed, withPrepared(compile(clusterOf(before), NODE), programmed))).toEqual([]);
});

test('while an event waits, a flush stages few chains', () => {
  const coming = [ofAll('one', 81)];
  const most = (timeBudget: TimeBudget) =>
    Math.max(
      ...preparing(flushedEngineOf(before, { ...LIMITS, mostLookups: 80 }), coming, timeBudget).map(
        ops => made(ops).length,
      ),
    );
  expect(most(AWAITED)).toBeLessThan(most(UNLIMITED_TIME));
});

test('a change that is given up leaves nothing', () => {
  const engine = flushedEngineOf(before, LIMITS);
  preparing(engine, [ofAll('one', 81)]);
  engine.prepare([]);
  assertExactly(engine.flush(), clusterOf(before));
});

describe('an object in force with the name of a staged one', () => {
  test('stays as it is until the change is applied', () => {
    const engine = flushedEngineOf(before, LIMITS);
    expect(preparing(engine, [own(1, 81)]).flat()).toEqual([]);
    const { ops, flushed } = takingIn(engine, [own(1, 81)]);
    expect(ops).not.toEqual([]);
    assertExactly(flushed, clusterOf([...before, own(1, 81)]));
  });

  test('keeps a class back that leads to it', () => {
    const many = Array.from({ length: 300 }, (_, n) => allowPort(1000 + n));
    const large = policyEvent(ingressPolicy('tenant/large', many));
    const edited = policyEvent(ingressPolicy('tenant/large', many.slice(1)));
    const engine = flushedEngineOf([...before, large], LIMITS);
    const coming = [edited, ofAll('one', 81)];
    expect(preparing(engine, coming).flat()).toEqual([]);
    const { flushed } = takingIn(engine, coming);
    assertExactly(flushed, clusterOf([...before, ...coming]));
  });

  test('becomes something else: nothing leads there any more', () => {
    const engine = flushedEngineOf(before, LIMITS);
    const coming = [ofAll('one', 81)];
    preparing(engine, coming);
    const { flushed } = takingIn(engine, [own(1, 81), { type: 'pod', key: 'tenant/p2' }]);
    assertExactly(flushed, clusterOf([...before, own(1, 81), { type: 'pod', key: 'tenant/p2' }]));
    expect(preparing(engine, coming).length).toBeGreaterThan(0);
  });
});

test('an object is known as staged until it is in force', () => {
  const engine = flushedEngineOf(before, LIMITS);
  const coming = [ofAll('one', 81)];
  const [step] = made(preparing(engine, coming).flat()).filter(op => objectOf(op) !== undefined);
  expect([engine.isStaged(step), engine.isStaged()]).toEqual([true, true]);
  takingIn(engine, coming);
  expect([engine.isStaged(step), engine.isStaged()]).toEqual([false, false]);
});

test('an engine without `stagesPrepared` stages nothing', () => {
  const engine = flushedEngineOf(before, { ...LIMITS, stagesPrepared: false });
  expect(preparing(engine, [ofAll('one', 81)]).flat()).toEqual([]);
});
