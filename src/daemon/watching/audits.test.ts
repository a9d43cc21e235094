import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import type { Committed } from '../../agent/committed.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { PolicyId } from '../../model/policy.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import type { FlowBatch } from '../../observe/flows/source.ts';
import { viewOf } from '../../semantics/view.ts';
import { Audits } from './audits.ts';

const POLICY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop, annotations: { sluice.dev/enforcement: audit } }, spec: { podSelector: {}, policyTypes: [Ingress] } }';
const PODS = ['10.0.0.1', '10.0.0.2'].map(
  (ip, n) =>
    `{ apiVersion: v1, kind: Pod, metadata: { name: p${n}, namespace: shop }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: ${ip} } }`,
);
const { cluster } = clusterView([...PODS, POLICY].join('\n---\n'));
const commit = (audited = cluster.audited) =>
  ({ cluster: { ...cluster, audited }, names: ['NetworkPolicy shop/db'] }) as unknown as Committed;
const flow: SeenFlow = {
  number: 1,
  atMs: 1,
  from: { address: address('10.0.0.1'), pod: 'shop/p0' },
  to: { address: address('10.0.0.2'), pod: 'shop/p1' },
  protocol: 'TCP',
  port: 80,
  directions: ['egress', 'ingress'],
  family: 'ip',
};

let followers: Set<(batch: FlowBatch) => void>;
let reported: EventSpec[];
let audits: Audits;
let warned: object[];

beforeEach(() => {
  vi.useFakeTimers();
  followers = new Set();
  reported = [];
  warned = [];
  const flows = {
    follow: (follower: (batch: FlowBatch) => void) => {
      followers.add(follower);
      return () => followers.delete(follower);
    },
  };
  const denials = { follow: () => () => undefined };
  const log = { debug() {}, info() {}, warn: (fields: object) => warned.push(fields), error() {} };
  audits = new Audits({ node: 'n1', view: viewOf(cluster), flows, denials, log });
  audits.reportTo(spec => reported.push(spec));
});

afterEach(() => {
  audits.close();
  vi.useRealTimers();
});

test('while nobody audits, nothing is listened to', () => {
  audits.committed(commit(new Map()));
  expect(followers.size).toBe(0);
  audits.committed(commit());
  audits.committed(commit());
  expect(followers.size).toBe(1);
  audits.committed(commit(new Map()));
  expect([followers.size, vi.getTimerCount()]).toEqual([0, 0]);
});

test('the author is told once in six hours, and not of what was told', () => {
  audits.committed(commit());
  vi.advanceTimersByTime(60_000);
  expect(reported).toEqual([]);
  const see = () => {
    for (const follower of followers) follower({ flows: [flow], lost: 0 });
  };
  see();
  vi.advanceTimersByTime(60_000);
  expect(reported).toEqual([
    {
      about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'shop', name: 'db' },
      type: 'Normal',
      reason: 'PolicyAudited',
      note: 'audited, not enforced: on node n1 would have denied 1 connection: shop/p0 -> shop/p1:80/TCP (1) (in 2 min)',
    },
  ]);
  see();
  vi.advanceTimersByTime(5 * 3_600_000);
  expect(reported).toHaveLength(1);
  vi.advanceTimersByTime(2 * 3_600_000);
  expect(reported.map(({ note }) => note.slice(0, 70))).toEqual([
    expect.any(String),
    'audited, not enforced: on node n1 would have denied 2 connections: sho',
  ]);
  vi.advanceTimersByTime(24 * 3_600_000);
  expect(reported).toHaveLength(2);
});

test('the log says once how many audited policies are not judged', () => {
  const [one] = cluster.audited!.values();
  const ids = Array.from({ length: 60 }, (_, n) => `NetworkPolicy shop/p${n}` as const);
  audits.committed(commit());
  expect(warned).toEqual([]);
  for (let i = 0; i < 2; i++) audits.committed(commit(new Map(ids.map(id => [id, { ...one!, id }]))));
  expect(warned).toEqual([{ audited: 60, unjudged: 10 }]);
});

test('policies that are audited and no more, by the hundred, leave others their Events', () => {
  const [one] = cluster.audited!.values();
  const tell = (id: PolicyId) => {
    const audited = new Map([[id, { ...one!, id }]]);
    audits.committed(commit(audited));
    for (const follower of followers) follower({ flows: [flow], lost: 0 });
    vi.advanceTimersByTime(100);
    audits.committed(commit(audited));
    audits.committed(commit(new Map()));
  };
  for (let i = 0; i < 3; i++) tell('NetworkPolicy shop/db');
  expect(reported).toHaveLength(1); // as if it had been audited all the time
  for (let i = 0; i < 500; i++) tell(`NetworkPolicy shop/p${i}`);
  expect(reported.length).toBeLessThan(60);
  const before = reported.length;
  tell('NetworkPolicy guest/db');
  expect(reported.slice(before).map(({ about }) => about)).toMatchObject([{ namespace: 'guest' }]);
});
