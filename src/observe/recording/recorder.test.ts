import { describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import type { Pod } from '../../model/cluster.ts';
import { mergeRecordings } from './merge.ts';
import { Recorder } from './recorder.ts';
import { connectionsOf, type RecordedFlow, type Recording } from './recording.ts';

const pod = (key: string): Pod => {
  const [namespace, name] = key.split('/') as [string, string];
  const rest = { addresses: [], hostNetwork: false, finished: false, createdAt: '', ports: [] };
  return { key: `${namespace}/${name}`, namespace, name, node: 'n1', labels: { app: name }, ...rest };
};
const OUTSIDE = address('192.0.2.7');
const flow = (from: Pod | undefined, port: number, more: Partial<RecordedFlow> = {}): RecordedFlow => ({
  from: { address: address('10.0.0.1'), ...(from && { pod: from }) },
  to: { address: OUTSIDE },
  protocol: 'TCP',
  port,
  was: 'allow',
  egress: 1,
  ingress: 0,
  firstMs: port,
  lastMs: port,
  ...more,
});
const byNamespace = (recorder: Recorder) =>
  Object.fromEntries(
    [...Map.groupBy(recorder.flows(), ({ from }) => from.pod?.namespace ?? '')].map(([name, flows]) => [
      name,
      flows.length,
    ]),
  );

describe('Recorder', () => {
  test('counts the same connection once more, also where the pod is told of anew', () => {
    const recorder = new Recorder();
    recorder.record(flow(pod('shop/web'), 80, { firstMs: 5, lastMs: 5 }));
    recorder.record(flow(pod('shop/web'), 80, { firstMs: 3, lastMs: 9, egress: 2 }));
    expect(recorder.flows()).toEqual([flow(pod('shop/web'), 80, { firstMs: 3, lastMs: 9, egress: 3 })]);
    recorder.record(flow({ ...pod('shop/web'), labels: { app: 'other' } }, 80));
    recorder.record(flow(pod('shop/web'), 80, { was: 'deny' }));
    expect(recorder.flows().length).toBe(3);
  });

  test('a pod with 100,000 ports or addresses has its share, and what has no place is counted', () => {
    const recorder = new Recorder();
    const scanner = pod('guest/scanner');
    for (let n = 0; n < 100_000; n++)
      recorder.record(
        flow(scanner, (n % 65_535) + 1, { to: { address: address(`192.0.${n >> 16}.${n & 255}`) } }),
      );
    recorder.record(flow(pod('guest/other'), 80));
    recorder.record(flow(pod('shop/web'), 80));
    expect([recorder.flows().length, byNamespace(recorder)]).toEqual([2_002, { guest: 2_001, shop: 1 }]);
    expect([...recorder.leftOut]).toEqual([['guest', 98_000]]);
  });

  test('who is visited by many has another share for what it opens itself', () => {
    const recorder = new Recorder({ flows: 100, perNamespace: 100, perPod: 3 });
    const web = pod('shop/web');
    for (let n = 1; n <= 10; n++)
      recorder.record(
        flow(undefined, 80, {
          from: { address: address(`192.0.2.${n}`) },
          to: { address: OUTSIDE, pod: web },
        }),
      );
    recorder.record(flow(web, 5432));
    expect([recorder.flows().length, [...recorder.leftOut]]).toEqual([4, [['shop', 7]]]);
  });

  test('where all is full, a namespace with less than its share takes the place of one with more', () => {
    const recorder = new Recorder({ flows: 12, perNamespace: 12, perPod: 4 });
    for (const name of ['a', 'b', 'c'])
      for (let n = 1; n <= 4; n++) recorder.record(flow(pod(`guest/${name}`), n));
    for (let n = 1; n <= 20; n++) recorder.record(flow(pod(`shop/p${n}`), n));
    expect(byNamespace(recorder)).toEqual({ guest: 6, shop: 6 });
    for (let n = 1; n <= 20; n++) recorder.record(flow(pod(`dns/p${n}`), n));
    expect(byNamespace(recorder)).toEqual({ guest: 4, shop: 4, dns: 4 });
    expect(Object.fromEntries(recorder.leftOut)).toEqual({ guest: 8, shop: 16, dns: 16 });
  });
});

test('mergeRecordings() of both ends of the same connections counts them once, and adds up what is lost', () => {
  const recording = (node: string, counts: Pick<RecordedFlow, 'egress' | 'ingress'>): Recording => ({
    fromMs: 1,
    toMs: 2,
    recordedOn: [node],
    unknownPods: node === 'n1' ? 'deny' : 'allow',
    lost: 2,
    leftOut: new Map([['shop', 3]]),
    namespaces: new Map(),
    nodes: new Map(),
    flows: [flow(pod('shop/web'), 80, counts)],
    silent: [],
  });
  const merged = mergeRecordings([
    recording('n1', { egress: 5, ingress: 0 }),
    recording('n2', { egress: 0, ingress: 4 }),
  ]);
  expect(merged).toMatchObject({ recordedOn: ['n1', 'n2'], unknownPods: 'deny', lost: 4 });
  expect([connectionsOf(merged), [...merged.leftOut], merged.flows.length]).toEqual([5, [['shop', 6]], 1]);
});
