/** A change that is made ready again, since some of the classes that it is about are others by now. */
import { expect, test } from 'vitest';
import { flushedEngineOf } from '../../../../test/support/agent/engine.ts';
import { chainsMade, own, ownPod, PODS } from '../../../../test/support/agent/ownclasses.ts';
import { allowPort, ingressPolicy, policyEvent, selecting } from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';

test('classes that are the same as before are found made', () => {
  const events = [...PODS.map(ownPod), ...PODS.map(n => own(n))];
  const engine = flushedEngineOf(events);
  const large = selecting('tenant/large', 5) as ClusterEvent & { value: Policy };
  const change = { id: large.value.id, value: large.value };
  engine.prepare([change]);
  engine.flush();
  engine.note(own(1, 81));
  engine.flush();
  expect(engine.isPrepared(change)).toBe(true);

  engine.note(large);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...events, own(1, 81), large]));
});

test('classes are found made that were made ready again since they are in bundles by what has come', () => {
  const rules = Array.from({ length: 98 }, (_, n) => allowPort(1000 + 2 * n));
  const pod = (n: number, policies: number) => [
    ownPod(n),
    ...Array.from({ length: policies }, (_, policy) => {
      const requirements = [{ key: 'app', operator: 'In' as const, values: [`a${n}`] }];
      return policyEvent(ingressPolicy(`tenant/own${n}-${policy}`, rules, requirements));
    }),
  ];
  const [before, later] = [PODS.flatMap(n => pod(n, 4)), [6, 7].flatMap(n => pod(n, 12))];
  const engine = flushedEngineOf(before, { mostEntries: 0 });
  const ofAll = policyEvent(ingressPolicy('tenant/all', [allowPort(81)]));
  const change = { id: ofAll.value.id, value: ofAll.value };
  engine.prepare([change]);
  engine.flush();
  for (const event of later) engine.note(event);
  engine.flush();
  expect(engine.isPrepared(change)).toBe(true);

  engine.note(ofAll);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...before, ...later, ofAll]));
});

test('changes of policies of one class are ready beside each other', () => {
  const all = (port: number) => policyEvent(ingressPolicy('tenant/all', [allowPort(port)]));
  const admin = (other: string): ClusterEvent & { value: Policy } => {
    const { value } = selecting('tenant/admin', 5, other) as { value: Policy };
    return policyEvent({ ...value, id: 'ClusterNetworkPolicy admin', name: 'admin', tier: 'admin' });
  };
  const before = [...PODS.map(ownPod), ...PODS.map(n => own(n)), all(81), admin('x')];
  const engine = flushedEngineOf(before, { mostEntries: 0 });
  const changes = [all(82), admin('y')].map(({ value }) => ({ id: value.id, value }));
  engine.prepare(changes);
  engine.flush();
  expect(changes.every(change => engine.isPrepared(change))).toBe(true);

  engine.note(policyEvent(changes[1]!.value));
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...before, admin('y')]));
});
