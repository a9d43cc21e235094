/** A change that has to be prepared again because some of the classes that it affects have changed meanwhile. */
import { expect, test } from 'vitest';
import { flushedEngineOf } from '../../../../test/support/agent/engine.ts';
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
  isIn,
  policyEvent,
  selecting,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';

test('classes that are the same as before are found made', () => {
  const engine = flushedEngineOf(OWN_CLASSES);
  const large = selecting('tenant/large', 5);
  const change = changeOf(large.value);
  engine.prepare([change]);
  engine.flush();
  engine.apply(own(1, 81));
  engine.flush();
  expect(engine.isPrepared(change)).toBe(true);

  engine.apply(large);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...OWN_CLASSES, own(1, 81), large]));
});

test('classes that were prepared again because they are bundled now are found prepared', () => {
  const rules = Array.from({ length: 98 }, (_, n) => allowPort(1000 + 2 * n));
  const pod = (n: number, policies: number) => [
    ownPod(n),
    ...Array.from({ length: policies }, (_, policy) => {
      const mine = isIn('app', `a${n}`);
      return policyEvent(ingressPolicy(`tenant/own${n}-${policy}`, rules, mine));
    }),
  ];
  const [before, later] = [PODS.flatMap(n => pod(n, 4)), [6, 7].flatMap(n => pod(n, 12))];
  const engine = flushedEngineOf(before, { mostEntries: 0 });
  const all = ofAll('all', 81);
  const change = changeOf(all.value);
  engine.prepare([change]);
  engine.flush();
  for (const event of later) engine.apply(event);
  engine.flush();
  expect(engine.isPrepared(change)).toBe(true);

  engine.apply(all);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...before, ...later, all]));
});

test('changes of policies of one class are ready beside each other', () => {
  const admin = (other: string): ClusterEvent & { value: Policy } => {
    const { value } = selecting('tenant/admin', 5, other);
    return policyEvent({ ...value, id: 'ClusterNetworkPolicy admin', name: 'admin', tier: 'admin' });
  };
  const before = [...OWN_CLASSES, ofAll('all', 81), admin('x')];
  const engine = flushedEngineOf(before, { mostEntries: 0 });
  const changes = [ofAll('all', 82), admin('y')].map(({ value }) => changeOf(value));
  engine.prepare(changes);
  engine.flush();
  expect(changes.every(change => engine.isPrepared(change))).toBe(true);

  engine.apply(policyEvent(changes[1]!.value!));
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  assertExactly(engine.flush(), clusterOf([...before, admin('y')]));
});
