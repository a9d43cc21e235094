import { describe, expect, test } from 'vitest';
import type { ClusterEvent, Pod, PodKey } from '../../../model/cluster.ts';
import { podMark } from '../../../model/podmark.ts';
import type { Direction, Policy } from '../../../model/policy.ts';
import { TerminatingNamespaces } from './terminatingnamespaces.ts';

const GONE: ClusterEvent = { type: 'policy', key: 'NetworkPolicy shop/web' };
const OTHER: ClusterEvent = { type: 'policy', key: 'NetworkPolicy shop/other' };
const BACK: ClusterEvent = { ...GONE, value: {} as Policy };

function pod(name: string, rest: Partial<Pod> = {}): ClusterEvent {
  const key: PodKey = `shop/${name}`;
  return { type: 'pod', key, value: { key, node: 'n1', labels: { app: 'web' }, ...rest } as Pod };
}

function noPod(name: string): ClusterEvent {
  return { type: 'pod', key: `shop/${name}` };
}

/** A hold for node n1; shop runs those pods. */
function hold(...pods: readonly ClusterEvent[]): TerminatingNamespaces {
  const hold = new TerminatingNamespaces('n1');
  hold.setTerminating('shop', false);
  hold.pass(pods);
  return hold;
}

/**
 * The events that may be published when the server has answered a question, asked now, whether namespace shop is alive.
 */
function answered(it: TerminatingNamespaces, lives: boolean): readonly ClusterEvent[] {
  expect(it.drainQuestions()).toEqual(['shop']);
  return it.answered('shop', it.deletionsOf('shop'), lives);
}

test('TerminatingNamespaces passes the deletion of a policy once its namespace is said to live, and asks once', () => {
  const it = hold(pod('a'));
  expect(it.pass([GONE])).toEqual([]);
  expect(it.drainQuestions()).toEqual(['shop']);
  expect(it.drainQuestions()).toEqual([]);
  expect(it.answered('shop', it.deletionsOf('shop'), true)).toEqual([GONE]);
  expect(it.isOpen('shop')).toBe(false);
});

test('TerminatingNamespaces passes the deletion of a policy at once where no pod is', () => {
  expect(hold().pass([GONE])).toEqual([GONE]);
  expect(hold(pod('a', { node: 'n2' })).pass([GONE])).toEqual([GONE]);
});

test('TerminatingNamespaces takes no answer for a deletion that came after the question', () => {
  const it = hold(pod('a'));
  it.pass([GONE]);
  const asked = it.deletionsOf('shop');
  it.pass([OTHER]);
  expect(it.answered('shop', asked, true)).toEqual([GONE]);
  expect(it.isOpen('shop')).toBe(true);
  expect(it.answered('shop', asked, true)).toEqual([]);
  expect(it.answered('shop', it.deletionsOf('shop'), true)).toEqual([OTHER]);
});

test('TerminatingNamespaces takes no answer for a policy that has come back and is deleted again', () => {
  const it = hold(pod('a'));
  it.pass([GONE]);
  const asked = it.deletionsOf('shop');
  it.pass([BACK]);
  expect(it.isOpen('shop')).toBe(false);
  it.pass([{ ...GONE }]);
  expect(it.answered('shop', asked, true)).toEqual([]);
  expect(it.isOpen('shop')).toBe(true);
});

test('TerminatingNamespaces keeps the policies of a namespace that the watch says is ending until its last pod is gone', () => {
  const it = hold(pod('a'), pod('b'));
  it.pass([OTHER]);
  it.setTerminating('shop', true);
  expect(it.pass([GONE])).toEqual([]);
  expect(it.drainQuestions()).toEqual([]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a')]);
  const finished = pod('b', { finished: true });
  expect(it.pass([finished])).toEqual([finished, OTHER, GONE]);
});

test('TerminatingNamespaces asks again where an answer says that it is ending: one by that name may be made anew', () => {
  const it = hold(pod('a'));
  it.pass([GONE]);
  expect(answered(it, false)).toEqual([]);
  expect(it.isOpen('shop')).toBe(true);
  expect(it.answered('shop', it.deletionsOf('shop'), true)).toEqual([GONE]);
});

test('TerminatingNamespaces keeps them too where the namespace is gone before its pods', () => {
  const it = hold(pod('a'));
  const gone: ClusterEvent = { type: 'namespace', key: 'shop' };
  expect(it.pass([gone, GONE])).toEqual([gone]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a'), GONE]);
});

test('TerminatingNamespaces without a node waits for every pod', () => {
  const it = new TerminatingNamespaces();
  it.pass([pod('a', { node: 'n2' })]);
  expect(it.pass([GONE])).toEqual([]);
});

test('TerminatingNamespaces waits with no policy of the whole cluster', () => {
  const cluster: ClusterEvent = { type: 'policy', key: 'ClusterNetworkPolicy platform' };
  expect(hold(pod('a')).pass([GONE, cluster])).toEqual([cluster]);
});

test.each(['nobody answers', 'the namespace is ending'])(
  'TerminatingNamespaces holds the isolation of a deleted policy, and not what it allowed, once %s',
  why => {
    const rules: Policy['ingress'] = [{ path: 'ingress[0]', action: 'accept', peers: 'any', ports: 'any' }];
    const policy = { name: 'shop/web', ingress: rules } as Policy;
    const isolated = { ...GONE, value: { ...policy, closed: 'deleted', ingress: [] } };
    const it = hold(pod('a'));
    it.pass([{ ...GONE, value: policy } as ClusterEvent]);
    expect(it.pass([GONE])).toEqual([]);
    const events = why === 'nobody answers' ? it.isolate('shop') : answered(it, false);
    expect(events).toEqual([isolated]);
    expect([...it.pass([]), ...it.isolate('shop')]).toEqual([]); // said once
    it.setTerminating('shop', false);
    expect(it.pass([])).toEqual([]); // the watch may be late
    expect(it.drainQuestions()).toEqual(['shop']);
    expect(it.answered('shop', it.deletionsOf('shop'), true)).toEqual([GONE]);
  },
);

test('TerminatingNamespaces looks at no deletion that nothing has changed for', () => {
  const it = hold(pod('a'));
  it.setTerminating('shop', true);
  const deletions = Array.from(
    { length: 10_000 },
    (_, i): ClusterEvent => ({ type: 'policy', key: `NetworkPolicy shop/p${i}` }),
  );
  for (const deletion of deletions) expect(it.pass([deletion])).toEqual([]);
  it.setTerminating('other', true);
  expect(it.pass([{ type: 'pod', key: 'other/b', value: { node: 'n1' } as Pod }])).toHaveLength(1);
  expect(it.pass([noPod('a')])).toEqual([noPod('a'), ...deletions]);
});

test('TerminatingNamespaces forgets a deletion when the policy comes back', () => {
  const it = hold(pod('a'));
  it.setTerminating('shop', true);
  it.pass([GONE]);
  expect(it.pass([BACK])).toEqual([BACK]);
  expect(it.isolate('shop')).toEqual([]);
  expect(it.pass([noPod('a')])).toEqual([noPod('a')]);
});

describe('TerminatingNamespaces of an agent that starts over rules that isolate pods', () => {
  const isolated = new Map<PodKey, ReadonlySet<Direction>>([
    ['shop/a', new Set(['ingress'])],
    ['shop/b', new Set(['egress'])],
    ['bank/c', new Set(['ingress'])],
  ]);
  const KEY = 'NetworkPolicy shop/(deleted with its namespace)';

  /** A restarted agent that has listed all pods and policies. */
  function restarted(found: typeof isolated, ...events: readonly ClusterEvent[]): TerminatingNamespaces {
    const it = new TerminatingNamespaces('n1', found);
    expect(it.pass(events)).toEqual(events);
    it.setListed();
    expect(it.pass([])).toEqual([]);
    return it;
  }

  /** The directions in which all pods of the namespace are isolated, and allowed nothing. */
  function isolating(events: readonly ClusterEvent[]): readonly string[] {
    const event = events.find(({ type }) => type === 'policy');
    const policy = event?.type === 'policy' ? event.value : undefined;
    expect(event?.key).toBe(policy && KEY);
    return (['ingress', 'egress'] as const).filter(direction => policy?.[direction]?.length === 0);
  }

  function selecting(app: string, direction: Direction, rest: Partial<Policy> = {}): ClusterEvent {
    const key = 'NetworkPolicy shop/x';
    const requirements = [{ key: 'app', operator: 'In', values: [app] }] as const;
    const subject = { namespaces: { kind: 'name', name: 'shop' }, pods: { requirements } } as const;
    return { type: 'policy', key, value: { id: key, subject, [direction]: [], ...rest } as Policy };
  }

  test('isolates what they isolate, as long as a pod of that namespace is there', () => {
    const it = restarted(isolated, pod('a'), pod('b'), pod('other'));
    expect(isolating(answered(it, false))).toEqual(['ingress', 'egress']);
    expect(it.pass([noPod('a'), noPod('b')])).toEqual([noPod('a'), noPod('b')]);
    expect(it.pass([noPod('other')])).toEqual([noPod('other'), { type: 'policy', key: KEY }]);
  });

  test('isolates in the directions of the pods that still run, and while nobody answers', () => {
    const it = restarted(isolated, pod('a'));
    expect(isolating(it.isolate('shop'))).toEqual(['ingress']);
    expect(answered(it, true)).toEqual([{ type: 'policy', key: KEY }]);
  });

  test('isolates nobody, and publishes nothing, where the namespace lives', () => {
    const it = restarted(isolated, pod('a'), pod('b'));
    expect(answered(it, true)).toEqual([]);
    expect(it.isOpen('shop')).toBe(false);
  });

  test('knows a pod by as much of its name as rules keep', () => {
    const [long, other] = ['x', 'y'].map(end => `${'a'.repeat(120)}${end}`) as [string, string];
    const found = new Map([[podMark(`shop/${long}`), new Set<Direction>(['ingress'])]]);
    expect(restarted(found, pod('a'.repeat(40))).drainQuestions()).toEqual([]);
    expect(isolating(answered(restarted(found, pod(long)), false))).toEqual(['ingress']);
    expect(isolating(answered(restarted(found, pod(other)), false)), 'which is the same').toEqual([
      'ingress',
    ]);
  });

  test.each([
    ['none of these pods is there', [pod('other')]],
    ['they run elsewhere', [pod('a', { node: 'n2' })]],
    ['they have finished', [pod('a', { finished: true })]],
    ['a policy isolates them still', [pod('a'), selecting('web', 'ingress')]],
    ['nobody knows whether one does', [pod('a', { labels: {}, partial: true }), selecting('x', 'ingress')]],
  ])('asks nothing where %s', (_, events) => {
    expect(restarted(isolated, ...events).drainQuestions()).toEqual([]);
  });

  test.each([
    ['the other pods', selecting('db', 'ingress')],
    ['the other direction', selecting('web', 'egress')],
    ['nobody, since it is audited', selecting('web', 'ingress', { audited: true })],
  ])('isolates them also where a policy is left that isolates %s', (_, policy) => {
    expect(isolating(answered(restarted(isolated, pod('a'), policy), false))).toEqual(['ingress']);
  });

  test('and not what policies come to isolate no more later on', () => {
    const it = restarted(isolated, pod('a'), selecting('web', 'ingress'));
    const other = selecting('db', 'ingress');
    expect(it.pass([other])).toEqual([other]);
    expect(it.drainQuestions()).toEqual([]);
  });
});
