/** Policies that wait for their turn beside the quarantine: each is in one place. */
import { expect, test } from 'vitest';
import { allowPort, ingressPolicy } from '../../../test/support/agent/tenants.ts';
import { type Policy, withoutRules } from '../../model/policy.ts';
import { Admission } from './admission.ts';

const policy = (ports: number) =>
  ingressPolicy(
    'a/x',
    Array.from({ length: ports }, (_, n) => allowPort(n + 1)),
  );
const change = (value: Policy) => ({ id: value.id, value });
const NOBODY_READY = () => false;

test('an edit that waits when its policy is suspected is what is tried later, and taken by nobody beside', () => {
  const [before, edit] = [policy(500), policy(400)];
  const policies = new Map([[before.id, before]]);
  const admission = new Admission();
  admission.enqueue(change(edit), before, 0);
  expect(admission.take(policies, 0, false, NOBODY_READY)).toEqual([]);
  admission.refused({ reason: 'EINVAL', named: [before.id] }, policies, 0);
  expect(admission.isEmpty).toBe(true);
  admission.committed(policies, 0, 0);
  expect(admission.take(policies, 1, false, () => true)).toEqual([]);
  expect(admission.take(policies, 60_000, false, NOBODY_READY)).toEqual([change(edit)]);
});

test('the fallback of a new policy is what isolates, and it is not called its last good version', () => {
  const value = policy(400);
  const policies = new Map<Policy['id'], Policy>();
  const admission = new Admission();
  admission.enqueue(change(value), undefined, 0);
  const [isolating] = admission.take(policies, 0, false, NOBODY_READY);
  expect(isolating).toEqual(change({ ...value, ingress: [], closed: 'rules follow' }));
  policies.set(value.id, isolating!.value!);
  admission.committed(policies, 0, 0);
  expect(admission.take(policies, 1, false, () => true)).toEqual([change(value)]);
  const fallback = { ...isolating!.value!, closed: 'refused' as const };
  expect(admission.refused({ reason: 'EINVAL', named: [value.id] }, policies, 1)).toEqual([change(fallback)]);
  admission.committed(policies, 0, 1);
  expect(admission.lastingStatuses()).toEqual([
    { id: value.id, kind: 'quarantined', reason: 'refused', detail: 'EINVAL', keepsLastVersion: false },
  ]);
});

test('a policy that waits says whether it is new, edited or deleted', () => {
  const [before, edited] = [policy(2), policy(3)];
  const changeOfWaiting = (value: Policy | undefined, programmed?: Policy) => {
    const admission = new Admission();
    admission.enqueue({ id: before.id, value }, programmed, 0);
    return admission.waitingStatuses().map(each => each.change);
  };
  expect(changeOfWaiting(edited)).toEqual(['new']);
  expect(changeOfWaiting(edited, before)).toEqual(['edit']);
  expect(changeOfWaiting(undefined, before)).toEqual(['deletion']);
  // It is gone before anything of it was in force.
  expect(changeOfWaiting(undefined)).toEqual(['new']);
});

test('what the source knows of a policy is its status from when it comes until it comes mended, and the list is the same between', () => {
  const admission = new Admission();
  const tooLarge = withoutRules(policy(3), 'policy too large');
  admission.enqueue(change(tooLarge), undefined, 0);
  const statuses = admission.lastingStatuses();
  const reason = 'it is larger than a policy may be';
  expect(statuses).toEqual([{ id: tooLarge.id, kind: 'over-budget', reason }]);
  admission.enqueue(change({ ...tooLarge, order: 1 }), tooLarge, 1);
  expect(admission.lastingStatuses()).toBe(statuses);
  admission.enqueue(change(policy(3)), tooLarge, 2);
  expect(admission.lastingStatuses()).toEqual([]);
  admission.enqueue(change(tooLarge), policy(3), 3);
  expect(admission.lastingStatuses()).toEqual(statuses);
  admission.enqueue({ id: tooLarge.id, value: undefined }, tooLarge, 4);
  expect(admission.lastingStatuses()).toEqual([]);
});
