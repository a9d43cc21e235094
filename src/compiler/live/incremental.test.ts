import { expect, test } from 'vitest';
import { networkPolicy } from '../../../bench/largepolicies.ts';
import { NODE } from '../../../test/support/agent/engine.ts';
import { assertExactly, clusterOf } from '../../../test/support/oracle/inforce.ts';
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import { Incremental } from './incremental.ts';

function pod(i: number, app = `a${i % 10}`): ClusterEvent {
  return decodeObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p${i}`, namespace: 'shop', labels: { app } },
    spec: { nodeName: NODE, containers: [{ name: 'c' }] },
    status: { podIPs: [{ ip: `10.1.${i >> 8}.${i & 255}` }] },
  }).event!;
}

const namespace = (labels: object): ClusterEvent =>
  decodeObject({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } }).event!;

/** Each policy selects another part of the pods, so that there are as many classes as policies. */
const policies = Array.from({ length: 10 }, (_, i) =>
  networkPolicy('shop', `x${i}`, {
    podSelector: { matchLabels: { app: `a${i}` } },
    ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: `t${i}` } } }] }],
  }),
).map(object => decodeObject(object).event!);

function gone({ type, key }: ClusterEvent): ClusterEvent {
  return { type, key } as ClusterEvent;
}

const cluster = [namespace({ team: 't1' }), ...Array.from({ length: 200 }, (_, i) => pod(i)), ...policies];

/** Applies the events while a flush is under way. Returns how many were applied, and how many pieces the flush had. */
function flushBeside(engine: Incremental, events: readonly ClusterEvent[]) {
  const left = [...events];
  const flushing = engine.flushInPieces();
  for (let pieces = 0; ; pieces++) {
    const piece = flushing.next();
    if (piece.done) return { ruleset: piece.value, pieces };
    for (const event of left.splice(0, 1)) engine.apply(event);
  }
}

test('an event that is applied during a flush is in the next flush, and not in this one', () => {
  const engine = new Incremental(NODE);
  for (const event of cluster) engine.apply(event);
  const late = [pod(3, 'a9'), pod(500), namespace({ team: 't2' }), gone(policies[4]!)];
  const { ruleset } = flushBeside(engine, late);
  assertExactly(ruleset, clusterOf(cluster));
  expect(engine.cluster.pods.has('shop/p500')).toBe(true);
  assertExactly(engine.flush(), clusterOf([...cluster, ...late]));
});

test('no pod, class or group is done in one piece with the next', () => {
  const engine = new Incremental(NODE);
  for (const event of cluster) engine.apply(event);
  expect(flushBeside(engine, []).pieces).toBeGreaterThan(2 * 200 + 10);
  engine.apply(namespace({ team: 't3' }));
  expect(flushBeside(engine, []).pieces).toBeGreaterThanOrEqual(200);
  for (const event of policies) engine.apply(gone(event));
  expect(flushBeside(engine, []).pieces).toBeGreaterThanOrEqual(200);
});

test('a flush that breaks keeps what was noted meanwhile', () => {
  const engine = new Incremental(NODE);
  for (const event of cluster) engine.apply(event);
  const flushing = engine.flushInPieces();
  flushing.next();
  engine.apply(pod(500));
  expect(() => flushing.throw(new TypeError('broken'))).toThrow('broken');
  expect(engine.cluster.pods.has('shop/p500')).toBe(true);
});

test('the cluster is what was noted, also while a flush is under way', () => {
  const engine = new Incremental(NODE);
  for (const event of cluster) engine.apply(event);
  const flushing = engine.flushInPieces();
  flushing.next();
  engine.apply(pod(500));
  expect(engine.cluster.pods.has('shop/p500')).toBe(true);
});

test('a pod that goes while the networks of its node change leaves no map behind', () => {
  const engine = new Incremental('n1', 'deny');
  const node = (podCIDRs: readonly string[]) =>
    decodeObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: { podCIDRs } }).event!;
  const stray = decodeObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stray', namespace: 'shop' },
    spec: { nodeName: 'n2', containers: [{ name: 'c' }] },
    status: { podIPs: [{ ip: '10.0.1.2' }] },
  }).event!;
  const known = () => [...engine.flush().tables.get('ip')!.sets.get('egress-pods')!.elements!.keys()];
  for (const event of [node(['10.0.1.0/24']), stray]) engine.apply(event);
  expect(known()).toEqual(['10.0.1.2']);
  for (const event of [node([]), gone(stray)]) engine.apply(event);
  expect(known()).toEqual([]);
});
