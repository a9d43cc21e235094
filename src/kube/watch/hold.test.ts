import { describe, expect, test } from 'vitest';
import type { ClusterEvent, Pod, PodKey } from '../../model/cluster.ts';
import { podMark } from '../../model/podmark.ts';
import type { Direction, Policy } from '../../model/policy.ts';
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

describe('PolicyHold of an agent that starts while a namespace is being deleted', () => {
  const isolated = new Map<PodKey, ReadonlySet<Direction>>([
    ['shop/a', new Set(['ingress'])],
    ['shop/b', new Set(['egress'])],
    ['bank/c', new Set(['ingress'])],
  ]);
  const KEY = 'NetworkPolicy shop/(deleted with its namespace)';

  function restarted(): PolicyHold {
    return new PolicyHold('n1', isolated);
  }

  /** The directions in which all pods of the namespace are isolated, and allowed nothing. */
  function isolating(events: readonly ClusterEvent[]): readonly string[] {
    const event = events.find(({ type }) => type === 'policy');
    const policy = event?.type === 'policy' ? event.value : undefined;
    expect(event?.key).toBe(policy && KEY);
    return (['ingress', 'egress'] as const).filter(direction => policy?.[direction]?.length === 0);
  }

  test('isolates what the rules in force isolate, as long as one of these pods is there', () => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    it.setActive('shop', false);
    expect(isolating(it.pass([pod('a'), pod('b'), pod('other')]))).toEqual(['ingress', 'egress']);
    expect(it.pass([noPod('a')])).toEqual([noPod('a')]);
    expect(it.pass([noPod('b')])).toEqual([noPod('b')]);
    expect(it.pass([noPod('other')])).toEqual([noPod('other'), { type: 'policy', key: KEY }]);
  });

  test('isolates in the directions of all that are there, however late they are heard of', () => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    it.setActive('shop', false);
    expect(isolating(it.pass([pod('a')]))).toEqual(['ingress']);
    expect(isolating(it.pass([pod('b')]))).toEqual(['ingress', 'egress']);
    expect(it.pass([pod('a'), pod('b')])).toEqual([pod('a'), pod('b')]);
    expect(it.pass([noPod('a'), noPod('b')])).toEqual([noPod('a'), noPod('b'), { type: 'policy', key: KEY }]);
  });

  test('knows a pod by as much of its name as rules keep', () => {
    const [long, other] = ['x', 'y'].map(end => `${'a'.repeat(120)}${end}`) as [string, string];
    const it = new PolicyHold('n1', new Map([[podMark(`shop/${long}`), new Set<Direction>(['ingress'])]]));
    it.setKnowsNamespaces(true);
    expect(it.pass([pod('a'.repeat(40))])).toHaveLength(1);
    expect(isolating(it.pass([pod(long)]))).toEqual(['ingress']);
    expect(it.pass([pod(other)])).toEqual([pod(other)]);
  });

  test('isolates in the directions of the pods that still run', () => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    expect(isolating(it.pass([pod('a')])), 'the namespace is gone').toEqual(['ingress']);
  });

  test.each([
    ['the namespace is active', true, [pod('a')]],
    ['none of these pods is there', false, [pod('other')]],
    ['they run elsewhere', false, [pod('a', { node: 'n2' })]],
    ['they have finished', false, [pod('a', { finished: true })]],
  ] as const)('isolates nobody where %s', (_, active, events) => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    it.setActive('shop', active);
    expect(it.pass([...events])).toEqual(events);
  });

  test('whatever is heard first', () => {
    const it = restarted();
    expect(it.pass([pod('a')])).toEqual([pod('a')]);
    it.setActive('shop', false);
    expect(it.pass([])).toEqual([]);
    it.setKnowsNamespaces(true);
    expect(isolating(it.pass([]))).toEqual(['ingress']);
  });

  test('and not what was isolated before the namespace was seen active', () => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    it.setActive('shop', true);
    it.pass([pod('a')]);
    it.setActive('shop', false);
    expect(it.pass([])).toEqual([]);
  });

  test('a namespace that is made anew by that name ends it', () => {
    const it = restarted();
    it.setKnowsNamespaces(true);
    expect(isolating(it.pass([pod('a')]))).toEqual(['ingress']);
    it.setActive('shop', true);
    expect(it.pass([])).toEqual([{ type: 'policy', key: KEY }]);
  });
});
