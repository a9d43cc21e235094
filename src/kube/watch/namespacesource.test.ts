/** When it is known which namespaces are being deleted, and their policies are gone or held. */
import { expect, test } from 'vitest';
import { apiNamespace } from '../../../test/support/api/objects.ts';
import type { ClusterEvent, Pod } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import { ClusterFeed } from './clusterfeed.ts';
import { NamespaceSource } from './namespacesource.ts';
import type { WatchChange } from './reflector.ts';

const POLICY = 'NetworkPolicy shop/web';
const GONE: ClusterEvent = { type: 'policy', key: POLICY };

function upsert(isTerminating: boolean): WatchChange {
  return { type: 'upsert', name: 'shop', object: apiNamespace('shop', {}, isTerminating) };
}

/** One pod and one policy of a namespace that is active; and whoever waits for the time. */
function site() {
  const events: ClusterEvent[] = [];
  const waiting: (() => void)[] = [];
  const feed = new ClusterFeed({
    onEvents: some => events.push(...some),
    onProblems: () => {},
    onSource: () => {},
  });
  const source = new NamespaceSource(feed, {
    now: () => 0,
    random: () => 0,
    sleep: (_, signal) =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => resolve());
        waiting.push(resolve);
      }),
  });
  source.apply([upsert(false), { type: 'replaced' }]);
  source.setHealth(true);
  const policy = { kind: 'NetworkPolicy', name: 'shop/web', ingress: [] } as unknown as Policy;
  feed.publish([
    { type: 'pod', key: 'shop/web', value: { node: 'n1', finished: false } as Pod },
    { ...GONE, value: policy } as ClusterEvent,
  ]);
  events.length = 0;
  const pass = async () => {
    for (const wake of waiting.splice(0)) wake();
    await undefined;
  };
  return {
    events,
    feed,
    source,
    pass,
    isGone: () => events.some(event => event.key === POLICY && !event.value),
  };
}

test('a policy that is deleted while the namespaces are known is gone at once', () => {
  const { feed, isGone } = site();
  feed.publish([GONE]);
  expect(isGone()).toBe(true);
});

test('a watch that was cut does not say which namespaces are being deleted before it has caught up', async () => {
  const { source, feed, pass, isGone } = site();
  source.setHealth(false);
  feed.publish([GONE]);
  source.setHealth(true);
  expect(isGone()).toBe(false);
  source.apply([upsert(true)]);
  await pass();
  expect(isGone()).toBe(false);
  feed.publish([{ type: 'pod', key: 'shop/web' }]);
  expect(isGone()).toBe(true);
});

test('what was deleted meanwhile in a namespace that lives goes when it has caught up, and not once it is closed', async () => {
  const { source, feed, pass, isGone } = site();
  source.setHealth(false);
  source.setHealth(true);
  feed.publish([GONE]);
  source.setHealth(true);
  expect(isGone()).toBe(false);
  await pass();
  expect(isGone()).toBe(true);
  const other = site();
  other.source.setHealth(false);
  other.source.setHealth(true);
  other.feed.publish([GONE]);
  other.source.close();
  await other.pass();
  expect(other.isGone()).toBe(false);
});

test('a watch that is cut again while it catches up begins anew; a whole list says all', async () => {
  const { source, feed, pass, isGone } = site();
  source.setHealth(false);
  feed.publish([GONE]);
  source.setHealth(true);
  source.setHealth(false);
  await pass();
  expect(isGone()).toBe(false);
  source.apply([upsert(false), { type: 'replaced' }]);
  source.setHealth(true);
  expect(isGone()).toBe(true);
});
