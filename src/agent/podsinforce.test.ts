import { expect, test } from 'vitest';
import { tenantPod } from '../../test/support/agent/tenants.ts';
import { ClusterState, type Namespace } from '../model/cluster.ts';
import { PodsInForce } from './desiredstate.ts';

const [first, second, third] = ['a', 'b', 'c'].map(app => tenantPod('shop', 1, { labels: { app } }));
const { key } = first!;
const namespaceOf = (team: string): Namespace => ({ name: 'shop', labels: { team } });

function clusterIn(value: Namespace): ClusterState {
  const cluster = new ClusterState();
  cluster.apply({ type: 'namespace', key: 'shop', value });
  return cluster;
}

test('a pod that waits and changes again is in force as its rules have it, and not as it was between', () => {
  const [pods, namespace] = [new PodsInForce(), namespaceOf('blue')];
  pods.record(key, first);
  pods.take();
  pods.committed(new Map([[key, { pod: first!, namespace }]]));
  pods.record(key, second);
  expect(pods.pods(clusterIn(namespace)).get(key)).toBe(first);
  pods.take();
  pods.record(key, third);
  expect(pods.pods(clusterIn(namespace)).get(key)).toBe(first);
});

test('what a flush has taken that was not committed is in force as it was before it', () => {
  const pods = new PodsInForce();
  for (const before of [first, second]) {
    pods.record(key, before);
    pods.take();
  }
  expect(pods.pods(new ClusterState()).get(key)).toBe(first);
});

test('a pod that waits by its namespace alone has that as its rules have it', () => {
  const pods = new PodsInForce();
  pods.committed(new Map([[key, { pod: first!, namespace: namespaceOf('blue') }]]));
  const inForce = pods.pods(clusterIn(namespaceOf('red'))).get(key);
  expect(inForce).toEqual({ ...first, namespaceInForce: namespaceOf('blue') });
});
