/** Events that are about a policy by its name alone are about the very object of the server. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeApiServer } from '../../../../bench/fakeapiserver.ts';
import { statusReporter } from '../../../daemon/source/statusreporter.ts';
import { realTiming } from '../../../lib/async/timing.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import { ClusterFeed } from './clusterfeed.ts';
import { ObjectSource, Objects } from './objects.ts';
import type { WatchChange } from './reflector.ts';
import { NETWORK_POLICIES } from './resource.ts';
import { type ClusterWatch, watchCluster } from './source.ts';

let server: FakeApiServer;
let watch: ClusterWatch;
/** The objects of which events came. */
let heard: string[];

const policy = (uid: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'web', namespace: 'shop', uid, generation: 3 },
  spec: { podSelector: {} },
});

beforeEach(async () => {
  server = new FakeApiServer();
  server.put(policy('6c2b'));
  await server.start();
  heard = [];
  const listener = {
    onEvents: (events: readonly ClusterEvent[]) => void heard.push(...events.map(({ key }) => key)),
    onSource: () => {},
    onProblems: () => {},
  };
  watch = watchCluster(server.access, listener, { node: 'n1', onEventTrouble: () => {} });
  await watch.ready;
});

afterEach(async () => {
  await watch.close();
  await server.stop();
});

function refuse(detail: string): void {
  const quarantined = [
    { id: 'NetworkPolicy shop/web', kind: 'quarantined', reason: 'refused', detail, keepsLastVersion: false },
  ] as const;
  statusReporter(spec => watch.report(spec)).policyStatuses?.(quarantined);
}

async function events(count: number): Promise<readonly unknown[]> {
  while (server.events.size < count) await new Promise(resolve => setTimeout(resolve, 5));
  return [...server.events.values()];
}

test('an Event of a policy in quarantine has its uid, by which kubectl describe finds it', async () => {
  refuse('EINVAL');
  expect(await events(1)).toMatchObject([
    { involvedObject: { kind: 'NetworkPolicy', namespace: 'shop', name: 'web', uid: '6c2b' } },
  ]);
});

test('a policy that was made anew under its name is another object', async () => {
  server.delete('NetworkPolicy', 'shop/web');
  server.put(policy('77aa'));
  server.put({ ...policy('1f00'), metadata: { name: 'later', namespace: 'shop' } });
  while (!heard.includes('NetworkPolicy shop/later')) await new Promise(resolve => setTimeout(resolve, 5));
  refuse('EINVAL');
  expect(await events(1)).toMatchObject([{ involvedObject: { uid: '77aa' } }]);
});

test('a policy has an identity from when it is published until it is gone, and one that cannot be read has none', () => {
  const feed = new ClusterFeed(
    { onEvents: () => {}, onSource: () => {}, onProblems: () => {} },
    { isLiving: async () => true, timing: realTiming, signal: new AbortController().signal },
  );
  const source = new ObjectSource('NetworkPolicy', new Objects(NETWORK_POLICIES), feed);
  const { kind, apiVersion } = policy('6c2b');
  const uid = () => feed.identities.complete({ apiVersion, kind, namespace: 'shop', name: 'web' }).uid;
  const apply = (change: WatchChange) => {
    source.apply([change]);
    return uid();
  };
  const unreadable = { ...policy('6c2b'), metadata: { name: 'web', namespace: 'Shop', uid: '6c2b' } };
  expect(apply({ type: 'upsert', name: 'shop/web', object: unreadable })).toBeUndefined();
  expect(apply({ type: 'upsert', name: 'shop/web', object: policy('77aa') })).toBe('77aa');
  expect(apply({ type: 'upsert', name: 'shop/web', object: unreadable })).toBe('6c2b');
  expect(apply({ type: 'delete', name: 'shop/web', object: {} })).toBeUndefined();
});
