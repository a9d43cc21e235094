/** Changes of policies that need much of the cluster: what waits until it is there, for how long, and what does not. */
import { expect, test } from 'vitest';
import { ingressPolicy } from '../../../test/support/agent/tenants.ts';
import type { Policy, PolicyId, Rule } from '../../model/policy.ts';
import { FAIRNESS, FairQueue } from './fairqueue.ts';

const NOBODY_READY = () => false;
/** Of a policy of few entries that asks very many pods. */
const MANY_PODS = 20_000;

function rule(n: number): Rule {
  const pods = { requirements: [{ key: 'app', operator: 'In' as const, values: [`x${n}`] }] };
  const peers = [
    { kind: 'pods' as const, selector: { namespaces: { kind: 'name' as const, name: 'a' }, pods } },
  ];
  return { path: `ingress[${n}]`, action: 'accept', peers, ports: 'any' };
}

const policy = (name: `${string}/${string}`, rules = 2) =>
  ingressPolicy(
    name,
    Array.from({ length: rules }, (_, n) => rule(n)),
  );
const change = (value: Policy) => ({ id: value.id, value });
const ids = (changes: readonly { id: PolicyId }[]) => changes.map(({ id }) => id);

test('a small policy that asks very many pods is taken when it is ready, and one that asks few at once', () => {
  const queue = new FairQueue();
  const [many, few] = [policy('a/many'), policy('b/few')];
  queue.note(change(many), many, 0, MANY_PODS);
  queue.note(change(few), few, 0, 100);
  expect(queue.toPrepare(0, NOBODY_READY)).toEqual([many]);
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([change(few)]);
  expect(queue.takeShare(1000, NOBODY_READY)).toEqual([]);
  expect(queue.takeShare(1000, () => true)).toEqual([change(many)]);
});

test('small policies of one batch ask no more pods than it has room for, however many there are', () => {
  const queue = new FairQueue();
  for (let n = 0; n < 100; n++) queue.note(change(policy(`${n}/some`)), undefined, 0, 5_000);
  const taken = queue.takeShare(0, NOBODY_READY);
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.length * 5_000).toBeLessThanOrEqual(20 * FAIRNESS.batch);
});

test('a new policy that is not ready after a second isolates, and has its allowances when it is', () => {
  const queue = new FairQueue();
  const isNew = policy('a/new');
  queue.note(change(isNew), undefined, 0, MANY_PODS);
  expect(queue.takeShare(FAIRNESS.isolateMs, NOBODY_READY)).toEqual([]);
  const interim = queue.takeShare(FAIRNESS.isolateMs + 1, NOBODY_READY);
  expect(interim).toEqual([{ id: isNew.id, value: { ...isNew, ingress: [] } }]);
  expect(queue.takeShare(FAIRNESS.isolateMs + 2, NOBODY_READY)).toEqual([]);
  expect(queue.toPrepare(FAIRNESS.isolateMs + 2, NOBODY_READY)).toEqual([isNew]);
  expect(queue.takeShare(FAIRNESS.isolateMs + 3, () => true)).toEqual([change(isNew)]);
  expect(queue.size).toBe(0);
});

test('a new policy of the whole cluster, or one that is audited, waits until it is ready', () => {
  const queue = new FairQueue();
  const ofAll: Policy = {
    ...policy('/all'),
    id: 'ClusterNetworkPolicy all',
    kind: 'ClusterNetworkPolicy',
    tier: 'admin',
  };
  queue.note(change(ofAll), undefined, 0, MANY_PODS);
  queue.note(change({ ...policy('a/audited'), audited: true }), undefined, 0, MANY_PODS);
  expect(queue.takeShare(10_000, NOBODY_READY)).toEqual([]);
});

test('an edit that allows less goes after all patience although it is not ready, of a namespace one a minute', () => {
  const queue = new FairQueue();
  const edits = ['a/x', 'a/y', 'b/z'] as const;
  for (const name of edits) queue.note(change(policy(name, 400)), policy(name, 500), 0);
  queue.note(change(policy('c/wider', 500)), policy('c/wider', 400), 0);
  expect(queue.takeShare(FAIRNESS.patienceMs, NOBODY_READY)).toEqual([]);
  const taken: PolicyId[] = [];
  let nowMs = FAIRNESS.patienceMs;
  const take = (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 100) {
      const batch = queue.takeShare(nowMs, NOBODY_READY);
      expect(batch.length).toBeLessThanOrEqual(1);
      taken.push(...ids(batch));
      queue.took(50, nowMs);
    }
  };
  take(10_000);
  expect(taken).toEqual(['NetworkPolicy a/x', 'NetworkPolicy b/z']);
  take(FAIRNESS.hastenMs);
  expect(taken).toEqual(['NetworkPolicy a/x', 'NetworkPolicy b/z', 'NetworkPolicy a/y']);
});
