import { expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { cutsOf } from './cuts.ts';
import { cutLines, cutMarkdown } from './diff.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (...apps: string[]) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, policyTypes: [Ingress], ingress: [${apps.map(app => `{ from: [{ podSelector: { matchLabels: { app: ${app} } } }] }`)}] } }`;
const cluster = (...apps: string[]) =>
  clusterView(
    [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), pod('api', '10.0.0.3'), policy(...apps)].join('\n---\n'),
  ).cluster;
const from = (ip: string, count = 1) => ({
  flow: { from: address(ip), to: address('10.0.0.2'), protocol: 'TCP', port: 5432 } as const,
  count,
});

test('cutsOf() names what was allowed and is denied, and counts what nobody allowed before', () => {
  const recorded = [from('10.0.0.1', 3), from('10.0.0.3'), from('192.0.2.1', 2)];
  const cuts = cutsOf(recorded, true, cluster('web', 'api'), cluster('api'), 'allow');
  expect(cuts).toEqual({
    isOpenNow: true,
    cuts: [
      {
        from: 'shop/web',
        to: 'shop/db',
        flow: '10.0.0.1 -> 10.0.0.2:5432/TCP',
        count: 3,
        reason: expect.stringMatching(/^NetworkPolicy shop\/db selects shop\/db, and no rule of it allows/),
      },
    ],
    judged: 6,
    deniedBefore: 2,
    notes: [],
  });
  expect(cutLines(cuts, 200).slice(0, 3)).toEqual([
    '',
    '3 connections that are open now would be cut:',
    '  shop/web -> shop/db  10.0.0.1 -> 10.0.0.2:5432/TCP  (3 connections)',
  ]);
  expect(cutLines(cuts, 200).at(-1)).toMatch(/^2 connections left out, which the old policies deny: /);
  expect(cutMarkdown(cuts)[1]).toBe('3 connections that are open now would be cut:');
});

test('cutsOf() of nothing is nothing', () => {
  const none = cutsOf([], false, cluster('web'), cluster('web'), 'allow');
  expect(cutLines(none, 80)).toEqual(['', 'no recorded connection would be cut (judged 0 connections)']);
  expect(cutLines(undefined, 80)).toEqual([]);
});
