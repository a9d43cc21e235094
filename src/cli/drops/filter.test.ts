import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { filterWords, isBetween, isWanted } from './filter.ts';

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
  [{ policy: '!closed' }, false],
  [{ policy: ['osed', 'closed'] }, true],
])('isWanted() by %j is %s', (filter, expected) => {
  expect(isWanted(DENIAL, filter)).toBe(expected);
});

const FROM = {
  address: '10.0.0.1' as Address,
  pod: 'shop/web-7d4b9c6f5-x2x9k' as const,
  labels: { app: 'web', 'pod-template-hash': '7d4b9c6f5' },
};
const OUTSIDE = {
  ...DENIAL,
  from: FROM,
  to: { address: '192.0.2.7' as Address },
  port: 443,
  names: ['x.test'],
};
const NODE = { ...DENIAL, from: { address: '172.18.0.2' as Address, node: 'n1' }, protocol: 'UDP' as const };

test.each([
  [OUTSIDE, { from: 'shop/deploy/web' }, true],
  [OUTSIDE, { from: 'deploy/web' }, true],
  [OUTSIDE, { from: 'shop/web' }, true],
  [OUTSIDE, { from: 'web' }, true],
  [OUTSIDE, { from: 'guest/web' }, false],
  [OUTSIDE, { from: 'shop/we' }, false],
  [OUTSIDE, { from: 'deploy/we' }, false],
  [OUTSIDE, { from: 'sts/web' }, false],
  [OUTSIDE, { from: 'deploy/web', namespace: 'guest' }, false],
  [OUTSIDE, { from: 'shop/app=web' }, true],
  [OUTSIDE, { from: 'app=web,tier=a' }, false],
  [OUTSIDE, { from: 'guest/app=web' }, false],
  [OUTSIDE, { to: 'deploy/web' }, false],
  [OUTSIDE, { pod: 'deploy/web' }, true],
  [OUTSIDE, { to: '192.0.2.7' }, true],
  [OUTSIDE, { to: '192.0.2.8' }, false],
  [OUTSIDE, { to: 'x.test' }, true],
  [OUTSIDE, { from: 'x.test' }, false],
  [OUTSIDE, { to: 'y.test' }, false],
  [OUTSIDE, { port: '443', protocol: 'tcp' }, true],
  [OUTSIDE, { port: '80' }, false],
  [OUTSIDE, { protocol: 'udp' }, false],
  [NODE, { from: 'node/n1', protocol: 'UDP' }, true],
  [NODE, { from: 'node/n2' }, false],
  [NODE, { from: 'guest/visitor' }, false],
  [DENIAL, { from: 'guest/visitor', to: 'shop/db' }, true],
  [DENIAL, { from: 'shop/db' }, false],
  [DENIAL, { port: '!80' }, false],
  [DENIAL, { port: '!81' }, true],
  [DENIAL, { port: ['80', '443'] }, true],
  [DENIAL, { port: ['443', '!80'] }, false],
  [DENIAL, { protocol: '!tcp' }, false],
  [DENIAL, { namespace: '!shop' }, false],
  [DENIAL, { namespace: ['!kube-system', '!ops'] }, true],
  [DENIAL, { namespace: ['shop', 'ops'], to: 'db' }, true],
  [DENIAL, { pod: '!shop/db' }, false],
  [DENIAL, { to: ['!shop/web', '!shop/api'] }, true],
  [DENIAL, { from: ['shop/web', 'guest/visitor'] }, true],
  [OUTSIDE, { to: '!x.test' }, false],
  [OUTSIDE, { from: '!shop/app=web' }, false],
])('isBetween() %#', (connection, filter, expected) => {
  expect(isBetween(connection, filter)).toBe(expected);
});

test.each([
  ['shop/svc/web', /name a pod, a workload, labels/],
  ['internet', /name a pod, a workload, labels/],
  ['shop/web:80', /--port and --protocol have them/],
])('a filter that means no end of a connection is refused before anybody is asked: %s', (from, why) => {
  expect(() => filterWords({ from })).toThrow(why);
});

test('agents are asked with what they have always known, and the prompt looks at the rest', () => {
  expect(
    filterWords({ namespace: ['shop'], from: ['!web'], to: ['a', 'b'], port: ['53'], policy: 'shop/db' }),
  ).toEqual(['--namespace=shop', '--port=53', '--policy=shop/db']);
  expect(() => filterWords({ to: ['web', '!shop/svc/web'] })).toThrow(/name a pod/);
});

test('-A makes -n the namespace of names alone', () => {
  const all = { namespace: 'shop', allNamespaces: true };
  expect(isBetween({ ...DENIAL, to: DENIAL.from }, all)).toBe(true);
  expect(isBetween(DENIAL, { ...all, to: 'db' })).toBe(true);
  expect(isBetween(DENIAL, { ...all, from: 'visitor' })).toBe(false);
  expect(filterWords({ ...all, port: '53' })).toEqual(['--port=53']);
});
