import { expect, test } from 'vitest';
import { type ClusterEvent, ClusterState, type Node } from './cluster.ts';
import { withoutRepeats } from './repeats.ts';

const event = (node: Partial<Node> = {}): ClusterEvent => ({
  type: 'node',
  key: 'one',
  value: { name: 'one', labels: {}, addresses: [], podCidrs: ['10.0.1.0/24'], ...node },
});

function known(...events: ClusterEvent[]): ClusterState {
  const state = new ClusterState();
  for (const each of events) state.apply(each);
  return state;
}

test('withoutRepeats() leaves out a node that says what it said before', () => {
  expect(withoutRepeats([event()], known(event()))).toEqual([]);
});

test.each<[string, Partial<Node>]>([
  ['a label', { labels: { zone: 'a' } }],
  ['a network', { podCidrs: ['10.0.1.0/24', 'fd00::/64'] }],
  ['its interfaces', { links: { uplinks: [2], podBridges: [] } }],
])('withoutRepeats() hands on a node that changed %s', (_, change) => {
  expect(withoutRepeats([event(change)], known(event()))).toEqual([event(change)]);
  expect(withoutRepeats([event()], known(event(change)))).toEqual([event()]);
});

test('withoutRepeats() hands on a node that is new, and one that is gone', () => {
  const gone: ClusterEvent = { type: 'node', key: 'one' };
  expect(withoutRepeats([event()], known())).toEqual([event()]);
  expect(withoutRepeats([gone], known(event()))).toEqual([gone]);
});

test('withoutRepeats() leaves every other event as it is', () => {
  const namespace: ClusterEvent = { type: 'namespace', key: 'shop', value: { name: 'shop', labels: {} } };
  expect(withoutRepeats([namespace], known(namespace))).toEqual([namespace]);
});
