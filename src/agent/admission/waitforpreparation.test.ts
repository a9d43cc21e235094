/** Changes of policies that need much of the cluster: what waits until it is there, for how long, and what does not. */
import { expect, test } from 'vitest';
import { changeOf as change, ingressPolicy, isIn, rulesOfPods } from '../../../test/support/agent/tenants.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import { FAIRNESS } from './limits.ts';
import { AdmissionQueue, NO_ESTIMATE } from './queue.ts';

const NOBODY_READY = () => false;
/** Cost of a policy that has few entries and selects very many pods. */
const MANY_PODS = 20_000;

const rules = (count: number) => rulesOfPods('a', count, n => isIn('app', `x${n}`));
const policy = (name: `${string}/${string}`, count = 2) => ingressPolicy(name, rules(count));
const isolating = (value: Policy) => change({ ...value, ingress: [], closed: 'rules follow' });
const ids = (changes: readonly { id: PolicyId }[]) => changes.map(({ id }) => id);

test('a small policy that looks at very many pods is applied when it is ready, and one that looks at few at once', () => {
  const queue = new AdmissionQueue();
  const [many, few] = [policy('a/many'), policy('b/few')];
  queue.enqueue(change(many), many, 0, MANY_PODS);
  queue.enqueue(change(few), few, 0, 100);
  expect(queue.toPrepare(0, NOBODY_READY)).toEqual([change(many)]);
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([change(few)]);
  expect(queue.takeShare(1000, NOBODY_READY)).toEqual([]);
  expect(queue.takeShare(1000, () => true)).toEqual([change(many)]);
});

test('a small policy that is gone waits until what it was merged with is ready', () => {
  const queue = new AdmissionQueue();
  const gone = { id: policy('a/gone').id, value: undefined };
  queue.enqueue(gone, policy('a/gone'), 0, MANY_PODS);
  expect(queue.toPrepare(0, NOBODY_READY)).toEqual([gone]);
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([]);
  expect(queue.takeShare(1, () => true)).toEqual([gone]);
});

test('small policies of one batch ask no more pods than it has room for, however many there are', () => {
  const queue = new AdmissionQueue();
  for (let n = 0; n < 100; n++) queue.enqueue(change(policy(`${n}/some`)), undefined, 0, 5_000);
  const taken = queue.takeShare(0, NOBODY_READY).filter(({ id }) => !queue.isolating.has(id));
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.length * 5_000).toBeLessThanOrEqual(20 * FAIRNESS.batch);
});

test('a new policy that is not ready isolates at once, and has its allowances when it is', () => {
  const queue = new AdmissionQueue();
  const isNew = policy('a/new');
  queue.enqueue(change(isNew), undefined, 0, MANY_PODS);
  expect(queue.waiting(0)).toMatchObject({ atMs: 0, priority: 'tightening' });
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([isolating(isNew)]);
  expect(queue.isolating).toEqual(new Set([isNew.id]));
  expect(queue.takeShare(1, NOBODY_READY)).toEqual([]);
  expect(queue.waiting(1)).toMatchObject({ priority: 'normal' });
  expect(queue.toPrepare(1, NOBODY_READY)).toEqual([change(isNew)]);
  expect(queue.takeShare(2, () => true)).toEqual([change(isNew)]);
  expect([queue.size, queue.isolating.size]).toEqual([0, 0]);
});

test('a new policy that is ready and waits for its turn behind another namespace’s isolates at once', () => {
  const queue = new AdmissionQueue();
  const [first, second] = [policy('a/large', 400), policy('b/large', 400)];
  for (const value of [first, second]) queue.enqueue(change(value), undefined, 0);
  expect(queue.takeShare(0)).toEqual([change(first), isolating(second)]);
  queue.took(500, 500);
  expect(queue.takeShare(501)).toEqual([]);
  const third = policy('c/large', 400);
  queue.enqueue(change(third), undefined, 502);
  expect(queue.waiting(502)?.atMs).toBe(502);
  expect(queue.takeShare(502)).toEqual([isolating(third)]);
  expect(queue.takeShare(1000)).toEqual([change(second)]);
});

test('a new small policy that a batch has no room for isolates at once, and who has fewest goes first', () => {
  const queue = new AdmissionQueue();
  const each = FAIRNESS.small - 20;
  for (let n = 0; n < 2 * FAIRNESS.batch; n++)
    queue.enqueue(change(policy(`a/${n}`)), undefined, 0, 20 * each);
  queue.enqueue(change(policy('b/good')), undefined, 0, 20 * each);
  const taken = queue.takeShare(0);
  expect(ids(taken)).toContain('NetworkPolicy b/good');
  const isolated = taken.filter(({ id }) => queue.isolating.has(id));
  expect(isolated).toHaveLength(FAIRNESS.turn);
  expect(queue.takeShare(1).filter(({ id }) => queue.isolating.has(id))).toHaveLength(FAIRNESS.turn);
});

test('another version of a policy that only isolates yet isolates whom that selects, and waits no longer for it', () => {
  const queue = new AdmissionQueue();
  const [isNew, edited] = [policy('a/new'), { ...policy('a/new'), egress: rules(1) }];
  queue.enqueue(change(isNew), undefined, 0, MANY_PODS);
  const [before] = queue.takeShare(0, NOBODY_READY);
  queue.enqueue(change(edited), before!.value, 7, MANY_PODS);
  expect(queue.takeShare(7, NOBODY_READY)).toEqual([
    { id: edited.id, value: { ...edited, ingress: [], egress: [], closed: 'rules follow' } },
  ]);
  expect(queue.statuses().map(({ sinceMs }) => sinceMs)).toEqual([0]);
  queue.podStarted('a');
  expect(queue.takeShare(8, NOBODY_READY)).toEqual([]);
});

test('another version of a policy that only isolates yet has nothing to do at once where it isolates the same pods', () => {
  const queue = new AdmissionQueue();
  const isNew = policy('a/new');
  queue.enqueue(change(isNew), undefined, 0, MANY_PODS);
  const [before] = queue.takeShare(0, NOBODY_READY);
  const edited = policy('a/new', 3);
  queue.enqueue(change(edited), before!.value, 7, MANY_PODS);
  expect(queue.isolating).toEqual(new Set([isNew.id]));
  expect(queue.takeShare(7, NOBODY_READY)).toEqual([]);
  expect(queue.takeShare(8, () => true)).toEqual([change(edited)]);
});

test('an edit isolates nobody: what is open now may be what it goes on to allow', () => {
  const queue = new AdmissionQueue();
  queue.enqueue(change(policy('a/x', 400)), policy('a/x', 300), 0);
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([]);
});

test('a new policy of the whole cluster, or one that is audited, waits until it is ready', () => {
  const queue = new AdmissionQueue();
  const ofAll: Policy = {
    ...policy('/all'),
    id: 'ClusterNetworkPolicy all',
    kind: 'ClusterNetworkPolicy',
    tier: 'admin',
  };
  queue.enqueue(change(ofAll), undefined, 0, MANY_PODS);
  queue.enqueue(change({ ...policy('a/audited'), audited: true }), undefined, 0, MANY_PODS);
  expect(queue.takeShare(10_000, NOBODY_READY)).toEqual([]);
});

test('an edit that allows less goes after all patience although it is not ready, of a namespace one a minute', () => {
  const queue = new AdmissionQueue();
  const edits = ['a/x', 'a/y', 'b/z'] as const;
  for (const name of edits) queue.enqueue(change(policy(name, 400)), policy(name, 500), 0, MANY_PODS);
  queue.enqueue(change(policy('c/wider', 500)), policy('c/wider', 400), 0, MANY_PODS);
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
  // A minute after it came, what widens goes too: nothing waits without end.
  take(FAIRNESS.overdueMs);
  expect(taken.slice(2)).toEqual(['NetworkPolicy c/wider', 'NetworkPolicy a/y']);
});

test('a policy that is large by its text alone waits on if it looks at many pods by then', () => {
  let asks = 0;
  const queue = new AdmissionQueue({ ...NO_ESTIMATE, countLookedAt: () => asks });
  queue.enqueue(change(policy('a/large', 400)), policy('a/large', 400), 0);
  asks = MANY_PODS;
  expect(queue.takeShare(FAIRNESS.unreadyMs, NOBODY_READY)).toEqual([]);
  asks = 0;
  expect(ids(queue.takeShare(FAIRNESS.unreadyMs + 1, NOBODY_READY))).toEqual(['NetworkPolicy a/large']);
});

test('one that is written again and again, or for another reason is never ready, goes as it is all the same', () => {
  const queue = new AdmissionQueue();
  const waiting = ['a/many', 'b/large', 'c/once'] as const;
  const write = (name: (typeof waiting)[number], rules: number, nowMs: number) =>
    queue.enqueue(change(policy(name, rules)), policy(name, 400), nowMs, name === 'b/large' ? 0 : MANY_PODS);
  for (const name of waiting) write(name, 400, 0);
  const taken = new Map<PolicyId, number>();
  for (let nowMs = 100; nowMs <= 2 * FAIRNESS.overdueMs; nowMs += 100) {
    for (const name of ['a/many', 'b/large'] as const)
      if (!taken.has(policy(name).id)) write(name, 400 + nowMs / 100, nowMs);
    for (const { id } of queue.takeShare(nowMs, NOBODY_READY)) taken.set(id, nowMs);
    queue.took(50, nowMs);
  }
  expect(taken).toEqual(
    new Map([
      ['NetworkPolicy b/large', FAIRNESS.unreadyMs],
      ['NetworkPolicy a/many', FAIRNESS.overdueMs + 100],
      ['NetworkPolicy c/once', FAIRNESS.overdueMs + 200],
    ]),
  );
});
