import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { isWanted } from './filter.ts';

const DENIAL: Denial = {
  number: 1,
  atMs: 0,
  lastMs: 0,
  times: 1,
  from: { address: '10.0.0.1' as Address, pod: 'guest/visitor' },
  to: { address: '10.0.0.2' as Address, pod: 'shop/db' },
  protocol: 'TCP',
  port: 80,
  cause: { kind: 'policy', policy: 'NetworkPolicy shop/closed', reason: 'r' },
};

const SEVERAL: Denial = {
  ...DENIAL,
  cause: {
    ...DENIAL.cause,
    policies: ['NetworkPolicy shop/closed', 'NetworkPolicy shop/default-deny'],
  },
};

test.each(['cnp:mail-by-name', 'mail-by-name', 'ClusterNetworkPolicy mail-by-name'])(
  'isWanted() knows a policy of the cluster as %s',
  policy => {
    const denial: Denial = {
      ...DENIAL,
      cause: { ...DENIAL.cause, policy: 'ClusterNetworkPolicy mail-by-name' },
    };
    expect(isWanted(denial, { policy })).toBe(true);
    expect(isWanted(DENIAL, { policy })).toBe(false);
  },
);

test.each([
  ['closed', true],
  ['shop/default-deny', true],
  ['NetworkPolicy shop/default-deny', true],
  ['shop/deny', false],
])('isWanted() by policy %s, where several isolate, is %s', (policy, expected) => {
  expect(isWanted(SEVERAL, { policy })).toBe(expected);
});

test.each([
  [{}, true],
  [{ namespace: 'shop' }, true],
  [{ namespace: 'guest' }, true],
  [{ namespace: 'sho' }, false],
  [{ pod: 'db' }, true],
  [{ pod: 'shop/db' }, true],
  [{ pod: 'guest/db' }, false],
  [{ namespace: 'guest', pod: 'db' }, false],
  [{ policy: 'closed' }, true],
  [{ policy: 'shop/closed' }, true],
  [{ policy: 'NetworkPolicy shop/closed' }, true],
  [{ policy: 'osed' }, false],
])('isWanted() by %j is %s', (filter, expected) => {
  expect(isWanted(DENIAL, filter)).toBe(expected);
});
