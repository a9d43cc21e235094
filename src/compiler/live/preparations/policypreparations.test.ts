/** Changes in a namespace in which each pod is in a class of its own, beside policies that select all pods. */
import { expect, test } from 'vitest';
import { AWAITED, flushedEngineOf, readying } from '../../../../test/support/agent/engine.ts';
import {
  chainsMade,
  OWN_CLASSES,
  ofAll,
  own,
  ownPod,
  PODS,
} from '../../../../test/support/agent/ownclasses.ts';
import {
  allowPort,
  changeOf,
  ingressPolicy,
  podEvent,
  policyEvent,
  selecting,
  tenantPod,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';

const events = OWN_CLASSES;
const policies = [ofAll('x', 81), ofAll('y', 82), ofAll('z', 83)];
const changes = policies.map(({ value }) => changeOf(value));

test('changes of an oversized namespace are ready together, their classes made once for all of them', () => {
  const engine = flushedEngineOf(events, { mostEntries: 0 });
  expect(changes.some(change => engine.isPrepared(change))).toBe(false);
  engine.prepare(changes);
  const ahead = chainsMade(() => engine.flush());
  expect(changes.every(change => engine.isPrepared(change))).toBe(true);
  for (const policy of policies) engine.apply(policy);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...events, ...policies]));

  const alone = flushedEngineOf(events, { mostEntries: 0 });
  alone.prepare([changes[0]!]);
  expect(chainsMade(() => alone.flush())).toBeGreaterThanOrEqual(ahead / 2);
});

test('a namespace is oversized by what its pods would have if each was in a class of its own', () => {
  const all = [ofAll('x', 81), ofAll('y', 82)];
  const engine = flushedEngineOf([...events.slice(0, PODS.length), ...all], { mostEntries: 15 });
  expect(engine.isOversized('tenant')).toBe(true);
  for (const n of PODS.slice(1)) engine.apply({ type: 'pod', key: tenantPod('tenant', n).key });
  engine.flush();
  expect([engine.isOversized('tenant'), engine.isOversized('other')]).toEqual([false, false]);
});

test('an edit without end of one change keeps the others of its namespace waiting no longer than its first', () => {
  const engine = flushedEngineOf(events, { mostEntries: 0 });
  const [edited, ...others] = changes;
  let port = 1000;
  const isReady = () => others.every(change => engine.isPrepared(change));
  for (let flush = 0; flush < 100 && !isReady(); flush++) {
    engine.prepare([{ id: edited!.id, value: ofAll('x', port++).value }, ...others]);
    wholeOf(engine.flushInPieces(AWAITED));
  }
  expect(isReady()).toBe(true);
});

test('what an oversized namespace needs is made beside what others do, however many pieces it is', () => {
  const pods = Array.from({ length: 60 }, (_, n) => n);
  const crowd = pods.flatMap(n => [ownPod(n), own(n)]);
  const engine = flushedEngineOf([...crowd, podEvent(tenantPod('b', 1))], { mostEntries: 0 });
  const [joint, large] = [changes[0]!, changeOf(selecting('b/large', 20).value)];
  const flushes: string[] = [];
  while (!engine.isPrepared(joint) && flushes.length < 1000) {
    engine.prepare(flushes.length === 0 ? [joint] : [joint, large]);
    wholeOf(engine.flushInPieces(AWAITED));
    flushes.push(engine.isPrepared(large) ? 'with the other' : 'alone');
  }
  expect(flushes.indexOf('with the other')).toBeGreaterThan(0);
  expect(flushes.indexOf('with the other')).toBeLessThan(flushes.length / 2);
});

test('what of its classes is made already is no piece', () => {
  const rules = Array.from({ length: 100 }, (_, n) => allowPort(1000 + 2 * n));
  const many = Array.from({ length: 90 }, (_, n) => policyEvent(ingressPolicy(`tenant/all${n}`, rules)));
  const engine = flushedEngineOf([...events, ...many], { mostEntries: 0 });
  expect(readying(engine, [changes[0]!], AWAITED).length).toBeLessThan(50);
});

test('what a pod that has come makes of it is found out in a few flushes, beside hundreds of others', () => {
  const pods = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => [ownPod(from + n), own(from + n)]).flat();
  const engine = flushedEngineOf(pods(0, 200), { mostEntries: 0 });
  engine.prepare([changes[0]!]);
  engine.flush();
  for (const event of pods(200, 201)) engine.apply(event);
  wholeOf(engine.flushInPieces(AWAITED));
  expect(readying(engine, [changes[0]!], AWAITED).length).toBeLessThan(49);
});
