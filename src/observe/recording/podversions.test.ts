import { expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import type { Pod } from '../../model/cluster.ts';
import { PodVersions } from './podversions.ts';
import { podText } from './recording.ts';

const pod = (labels: Pod['labels']): Pod => ({
  ...{ key: 'shop/web', namespace: 'shop', name: 'web', node: 'n1', labels, addresses: [] },
  ...{ hostNetwork: false, finished: false, createdAt: '', ports: [] },
});
const NOW = new Map([['shop/web', pod({ app: 'now' })]] as const);
const END = { address: address('10.0.0.1'), pod: 'shop/web', nodeName: 'n1' } as const;

test('a pod is what it was told to be, and not what it is now', () => {
  const told = new PodVersions().of({ ...END, labels: { app: 'then' } }, NOW)!;
  expect(podText(told)).toBe(podText(pod({ app: 'then' })));
});

test('a pod whose labels were not told is what it is now, and one that nobody knows is not known whole', () => {
  const pods = new PodVersions();
  expect(pods.of(END, NOW)).toBe(NOW.get('shop/web'));
  expect(pods.of(END, new Map())).toMatchObject({ key: 'shop/web', node: 'n1', partial: true });
  expect(pods.of({ address: END.address }, NOW)).toBeUndefined();
});

test('many connections of one state of a pod share one object, and a pod that changes without end takes no more room', () => {
  const pods = new PodVersions();
  const first = pods.of({ ...END, labels: { app: 'then' } }, NOW);
  expect(pods.of({ ...END, labels: { app: 'then' } }, NOW)).toBe(first);
  for (let n = 0; n < 60_000; n++) pods.of({ ...END, labels: { n: String(n) } }, NOW);
  expect(pods.size).toBeLessThanOrEqual(50_000);
});
