import { expect, test } from 'vitest';
import type { ClusterEvent, Pod } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import { PolicyHold } from './hold.ts';

const GONE: ClusterEvent = { type: 'policy', key: 'NetworkPolicy shop/web' };
const BACK: ClusterEvent = { ...GONE, value: {} as Policy };

function pod(name: string, { node = 'n1', finished = false } = {}): ClusterEvent {
  return { type: 'pod', key: `shop/${name}`, value: { node, finished } as Pod };
}

function noPod(name: string): ClusterEvent {
  return { type: 'pod', key: `shop/${name}` };
}

/** A hold for node n1 that knows the namespaces; shop is active and runs those pods. */
function hold(...pods: readonly ClusterEvent[]): PolicyHold {
  const hold = new PolicyHold('n1');
  hold.setKnowsNamespaces(true);
  hold.setActive('shop', true);
  hold.pass(pods);
  return hold;
}

test('PolicyHold passes the deletion of a policy in an active namespace at once', () => {
  expect(hold(pod('a')).pass([GONE])).toEqual([GONE]);
});

test('PolicyHold keeps the policies of a terminating namespace until its last pod is gone or finished', () => {
  const it = hold(pod('a'), pod('b'));
  it.setActive('shop', false);
  expect(it.pass([GONE])).toEqual([]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a')]);
  const finished = pod('b', { finished: true });
  expect(it.pass([finished])).toEqual([finished, GONE]);
});

test('PolicyHold keeps them too where the namespace is gone before its pods', () => {
  const it = hold(pod('a'));
  const gone: ClusterEvent = { type: 'namespace', key: 'shop' };
  expect(it.pass([gone, GONE])).toEqual([gone]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a'), GONE]);
});

test('PolicyHold waits for no pod of another node', () => {
  const it = hold(pod('a', { node: 'n2' }));
  it.setActive('shop', false);
  expect(it.pass([GONE])).toEqual([GONE]);
});

test('PolicyHold without a node waits for every pod', () => {
  const it = new PolicyHold();
  it.setKnowsNamespaces(true);
  it.pass([pod('a', { node: 'n2' })]);
  expect(it.pass([GONE])).toEqual([]);
});

test('PolicyHold keeps every namespaced policy while the namespaces cannot be read', () => {
  const it = hold();
  it.setKnowsNamespaces(false);
  const cluster: ClusterEvent = { type: 'policy', key: 'ClusterNetworkPolicy platform' };
  expect(it.pass([GONE, cluster])).toEqual([cluster]);
  it.setKnowsNamespaces(true);
  expect(it.pass([])).toEqual([GONE]);
});

test('PolicyHold holds the isolation of a deleted policy, and not what it allowed', () => {
  const rules: Policy['ingress'] = [{ path: 'ingress[0]', action: 'accept', peers: 'any', ports: 'any' }];
  const policy = { name: 'shop/web', ingress: rules } as Policy;
  const isolated = { ...GONE, value: { ...policy, ingress: [] } };
  for (const until of ['namespaces can be read', 'the last pod is gone']) {
    const it = hold(pod('a'));
    it.pass([{ ...GONE, value: policy } as ClusterEvent]);
    if (until === 'namespaces can be read') it.setKnowsNamespaces(false);
    else it.setActive('shop', false);
    expect(it.pass([GONE])).toEqual([isolated]);
    expect(it.pass([])).toEqual([]); // said once
    it.setKnowsNamespaces(true);
    it.setActive('shop', true);
    expect(it.pass([])).toEqual([GONE]);
  }
});

test('PolicyHold looks at no deletion that nothing has changed for', () => {
  const it = hold(pod('a'));
  it.setActive('shop', false);
  const deletions = Array.from(
    { length: 10_000 },
    (_, i): ClusterEvent => ({ type: 'policy', key: `NetworkPolicy shop/p${i}` }),
  );
  for (const deletion of deletions) expect(it.pass([deletion])).toEqual([]);
  it.setActive('other', false);
  expect(it.pass([{ type: 'pod', key: 'other/b', value: { node: 'n1' } as Pod }])).toHaveLength(1);
  expect(it.pass([noPod('a')])).toEqual([noPod('a'), ...deletions]);
});

test('PolicyHold forgets a deletion when the policy comes back', () => {
  const it = hold(pod('a'));
  it.setActive('shop', false);
  it.pass([GONE]);
  expect(it.pass([BACK])).toEqual([BACK]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a')]);
});

test('PolicyHold lets go when the namespace is active again', () => {
  const it = hold(pod('a'));
  it.setActive('shop', false);
  it.pass([GONE]);
  it.setActive('shop', true);
  expect(it.pass([])).toEqual([GONE]);
});
