import { expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import { viewOf } from '../../semantics/view.ts';
import { AuditTally, auditText, MOST_AUDITED, type ObservedConnection } from './audittally.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (name: string, app: string, from: string, enforcement = 'audit') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop, annotations: { sluice.dev/enforcement: ${enforcement} } }, spec: { podSelector: { matchLabels: { app: ${app} } }, policyTypes: [Ingress], ingress: [{ from: [{ podSelector: { matchLabels: { app: ${from} } } }] }] } }`;
const cluster = (...policies: string[]) =>
  clusterView(
    [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), pod('api', '10.0.0.3'), ...policies].join('\n---\n'),
  ).cluster;
const fared = (from: string, was: ObservedConnection['was'] = 'allow'): ObservedConnection => ({
  flow: { from: address(from), to: address('10.0.0.2'), protocol: 'TCP', port: 5432 },
  directions: ['ingress'],
  was,
  text: `${from} -> shop/db:5432/TCP`,
});

test('AuditTally counts what each policy by itself would have denied, and where it begins anew', () => {
  const state = cluster(policy('db', 'db', 'api'), policy('api', 'api', 'db'));
  const tally = new AuditTally(viewOf(state), () => 0);
  tally.follow(state.audited!, 7);
  tally.observe([fared('10.0.0.1'), fared('10.0.0.1'), fared('10.0.0.3'), fared('192.0.2.7')]);
  const counts = () => tally.totals.map(each => [each.policy, each.wouldDeny, each.wouldAllow, each.sinceMs]);
  expect(counts()).toEqual([
    ['NetworkPolicy shop/api', 0, 0, 7],
    ['NetworkPolicy shop/db', 3, 0, 7],
  ]);
  expect(auditText(tally.totals[1]!)).toBe(
    'would have denied 3 connections: 10.0.0.1 -> shop/db:5432/TCP (2), 192.0.2.7 -> shop/db:5432/TCP (1)',
  );
  tally.follow(
    new Map([...state.audited!].map(([id, value]) => [id, id.endsWith('db') ? { ...value } : value])),
    9,
  );
  expect(counts()).toEqual([
    ['NetworkPolicy shop/api', 0, 0, 7],
    ['NetworkPolicy shop/db', 0, 0, 9],
  ]);
  tally.follow(new Map(), 9);
  expect(tally.totals).toEqual([]);
});

test('of denials it counts those that the policy would have allowed', () => {
  const state = cluster(policy('closed', 'db', 'nobody', 'enforce'), policy('db', 'db', 'api'));
  const tally = new AuditTally(viewOf(state), () => 0);
  tally.follow(state.audited!, 0);
  tally.observe([fared('10.0.0.3', 'deny'), fared('10.0.0.1', 'deny'), fared('10.0.0.1')]);
  expect(tally.totals).toEqual([expect.objectContaining({ wouldDeny: 0, wouldAllow: 1 })]);
  expect(auditText(tally.totals[0]!)).toBe(
    'would have denied 0 connections; it would have allowed 1 that were denied',
  );
});

const copies = (one: Policy, ids: readonly PolicyId[]) => new Map(ids.map(id => [id, { ...one, id }]));

/** A map of policies that fails if all of them are listed. */
class Unlisted extends Map<PolicyId, Policy> {
  override keys(): never {
    throw new Error('all policies were looked at');
  }
  override values = this.keys;
  override entries = this.keys;
  override forEach = this.keys;
  override [Symbol.iterator] = this.keys;
}

test('what changes costs a look at what has changed, however many are audited', () => {
  const state = cluster(policy('db', 'db', 'api'));
  const [[id, one]] = [...state.audited!] as [[PolicyId, Policy]];
  const ids = Array.from({ length: 10_000 }, (_, n): PolicyId => `NetworkPolicy shop/p${n}`).sort();
  const all = copies(one, ids);
  const tally = new AuditTally(viewOf(state), () => 0);
  tally.follow(all, 1);
  const audited = new Unlisted();
  for (const [each, value] of all) audited.set(each, value);
  const gone = ids.slice(10, 20);
  for (const each of gone) audited.delete(each);
  tally.follow(audited.set(id, one), 2, [...gone, id]);
  const counted = tally.totals.map(total => [total.policy, total.sinceMs]);
  const kept = ids.slice(0, MOST_AUDITED).filter(each => !gone.includes(each));
  const next = ids.slice(MOST_AUDITED, MOST_AUDITED + 9);
  expect(new Map(counted as [PolicyId, number][])).toEqual(
    new Map([[id, 2], ...kept.map(each => [each, 1] as const), ...next.map(each => [each, 2] as const)]),
  );
});

test('of ten thousand policies of one namespace the others lose no place', () => {
  const state = cluster(policy('db', 'db', 'api'));
  const [, one] = [...state.audited!][0]!;
  const many = Array.from({ length: 10_000 }, (_, n) => `NetworkPolicy shop/p${n}` as const);
  const others = ['ClusterNetworkPolicy x', 'NetworkPolicy zoo/a', 'NetworkPolicy zoo/b'] as const;
  const tally = new AuditTally(viewOf(state), () => 0);
  tally.follow(copies(one, [...many, ...others]), 0);
  expect(tally.totals).toHaveLength(MOST_AUDITED);
  expect(tally.totals.map(each => each.policy)).toEqual(expect.arrayContaining([...others]));
});

/** A clock that advances by `stepMs` at each reading, so each judgement takes that long. */
function slow(stepMs: number, ids: readonly PolicyId[]) {
  const state = cluster(policy('db', 'db', 'api'));
  const clock = { ms: 0, stepMs };
  const now = () => {
    clock.ms += clock.stepMs;
    return clock.ms;
  };
  const tally = new AuditTally(viewOf(state), now);
  tally.follow(copies([...state.audited!.values()][0]!, ids), 0);
  const denied = () => tally.totals.map(({ wouldDeny }) => wouldDeny);
  return { clock, tally, denied };
}

const flood = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ ...fared('10.0.0.1'), text: `${n}` }));

test('a flood is judged for some 4 ms, what is beyond is counted, and 40 ms later there is time again', () => {
  const { clock, tally, denied } = slow(0.1, ['NetworkPolicy shop/db']);
  tally.observe(flood(1_500));
  expect(denied()[0]).toBeGreaterThanOrEqual(39);
  expect(denied()[0]).toBeLessThanOrEqual(41);
  expect([tally.unjudged + denied()[0]!, tally.totals[0]!.examples.size]).toEqual([1_500, 20]);
  clock.ms += 40;
  tally.observe(flood(1_500));
  expect(denied()[0]).toBeLessThanOrEqual(82);
  expect(denied()[0]).toBeGreaterThanOrEqual(78);
});

test('connections that come one by one have no time of their own', () => {
  const { clock, tally, denied } = slow(1, ['NetworkPolicy shop/db']);
  for (const each of flood(1_000)) tally.observe([each]);
  const spentMs = denied()[0]!;
  expect(spentMs).toBeLessThanOrEqual(4 + clock.ms / 10);
  expect([spentMs > 50, spentMs + tally.unjudged]).toEqual([true, 1_000]);
});

test('between policies too the time ends, a long judgement is made up for, and the next goes on', () => {
  const ids = Array.from({ length: 10 }, (_, n) => `NetworkPolicy shop/p${n}` as const);
  const { clock, tally, denied } = slow(20, ids);
  tally.observe(flood(2));
  expect([denied().reduce((a, b) => a + b), tally.unjudged]).toEqual([1, 2]);
  clock.ms += 40;
  tally.observe(flood(2));
  expect([denied().reduce((a, b) => a + b), tally.unjudged]).toEqual([1, 4]);
  clock.ms += 120;
  tally.observe(flood(2));
  expect([denied(), tally.unjudged]).toEqual([[1, 1, 0, 0, 0, 0, 0, 0, 0, 0], 6]);
});

test('who was stopped for an hour while it judged, judges again ten seconds later', () => {
  const { clock, tally, denied } = slow(0, ['NetworkPolicy shop/db']);
  clock.stepMs = 3_600_000;
  tally.observe(flood(1));
  clock.stepMs = 0;
  clock.ms += 10_001;
  tally.observe(flood(1));
  expect([denied(), tally.unjudged]).toEqual([[2], 0]);
});
