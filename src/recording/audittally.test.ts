import { expect, test } from 'vitest';
import { world } from '../../test/support/questions/world.ts';
import { address } from '../lab/topology.ts';
import { viewOf } from '../semantics/view.ts';
import { AuditTally, auditText, type Fared, MOST_AUDITED } from './audittally.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (name: string, app: string, from: string, enforcement = 'audit') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop, annotations: { sluice.dev/enforcement: ${enforcement} } }, spec: { podSelector: { matchLabels: { app: ${app} } }, policyTypes: [Ingress], ingress: [{ from: [{ podSelector: { matchLabels: { app: ${from} } } }] }] } }`;
const cluster = (...policies: string[]) =>
  world([pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), pod('api', '10.0.0.3'), ...policies].join('\n---\n'))
    .cluster;
const fared = (from: string, was: Fared['was'] = 'allow'): Fared => ({
  flow: { from: address(from), to: address('10.0.0.2'), protocol: 'TCP', port: 5432 },
  directions: ['ingress'],
  was,
  text: `${from} -> shop/db:5432/TCP`,
});

test('AuditTally counts what each policy by itself would have denied, and where it begins anew', () => {
  const state = cluster(policy('db', 'db', 'api'), policy('api', 'api', 'db'));
  const tally = new AuditTally(viewOf(state));
  tally.follow(state.audited!, 7);
  tally.note([fared('10.0.0.1'), fared('10.0.0.1'), fared('10.0.0.3'), fared('192.0.2.7')]);
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
  const tally = new AuditTally(viewOf(state));
  tally.follow(state.audited!, 0);
  tally.note([fared('10.0.0.3', 'deny'), fared('10.0.0.1', 'deny'), fared('10.0.0.1')]);
  expect(tally.totals).toEqual([expect.objectContaining({ wouldDeny: 0, wouldAllow: 1 })]);
  expect(auditText(tally.totals[0]!)).toBe(
    'would have denied 0 connections; it would have allowed 1 that were denied',
  );
});

test('ten thousand policies and a flood are judged within bounds, and the rest is counted', () => {
  const state = cluster(policy('db', 'db', 'api'));
  const [, one] = [...state.audited!][0]!;
  const many = new Map(
    Array.from({ length: 10_000 }, (_, n) => {
      const id = `NetworkPolicy shop/p${n}` as const;
      return [id, { ...one, id }] as const;
    }),
  );
  const tally = new AuditTally(viewOf(state));
  tally.follow(many, 0);
  expect(tally.totals).toHaveLength(MOST_AUDITED);
  tally.note(Array.from({ length: 5_000 }, (_, n) => ({ ...fared('10.0.0.1'), text: `${n}` })));
  expect([tally.totals[0]!.wouldDeny, tally.totals[0]!.examples.size, tally.unjudged]).toEqual([
    40, 20, 4_960,
  ]);
});
