import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FollowedCluster, isSameState, stateOf } from '../../../../test/support/api/clusterwatch.ts';
import {
  apiClusterPolicy,
  apiDefinition,
  apiNamespace,
  apiNetworkPolicy,
  apiNode,
  apiPod,
} from '../../../../test/support/api/objects.ts';
import type { FakeApiServer, FakeRequest, Fault } from '../../../../test/support/api/server.ts';
import { startShop } from '../../../../test/support/api/shop.ts';
import { until } from '../../../../test/support/until.ts';

let server: FakeApiServer;
const followed: FollowedCluster[] = [];

beforeEach(async () => {
  server = await startShop();
});

afterEach(async () => {
  await Promise.all(followed.splice(0).map(cluster => cluster.close()));
  await server.stop();
});

function follow(silenceMs?: number): FollowedCluster {
  const cluster = new FollowedCluster(server, silenceMs);
  followed.push(cluster);
  return cluster;
}

async function synced(silenceMs?: number): Promise<FollowedCluster> {
  const cluster = follow(silenceMs);
  await until('ready', () => cluster.isReady);
  return cluster;
}

async function same(cluster: FollowedCluster): Promise<void> {
  await until('the same state', () => isSameState(cluster.state, stateOf(server)));
  expect(cluster.state).toEqual(stateOf(server));
}

/** The fault for requests whose path ends so, until it returns undefined. */
function faultFor(plural: string, fault: (request: FakeRequest) => Fault | undefined): void {
  server.fault = request => (request.path.endsWith(`/${plural}`) ? fault(request) : undefined);
}

const isWatch = ({ query }: FakeRequest) => query.watch === 'true';
const isResumed = ({ query }: FakeRequest) => query.watch === 'true' && query.resourceVersion !== undefined;

describe.each([
  ['streaming lists', true],
  ['paged lists', false],
])('watchCluster() with %s', (_, canStream) => {
  beforeEach(() => {
    server.canStream = canStream;
  });

  test('tells everything there is before it is ready', async () => {
    const cluster = await synced();
    expect(cluster.keys).toEqual(['NetworkPolicy shop/web', 'node-1', 'shop', 'shop/web']);
    expect(cluster.state).toEqual(stateOf(server));
  });

  test('tells what is created, changed and deleted afterwards', async () => {
    const cluster = await synced();
    server.put(apiPod('shop/db', '10.0.0.2'));
    server.put(apiPod('shop/web', '10.0.0.9', { app: 'other' }));
    server.delete('NetworkPolicy', 'shop/web');
    await same(cluster);
    expect(cluster.gone).toEqual(['NetworkPolicy shop/web']);
  });

  test('takes back what was deleted while it was cut off and history was forgotten', async () => {
    const cluster = await synced();
    await server.stop();
    server.delete('Pod', 'shop/web');
    server.delete('NetworkPolicy', 'shop/web');
    server.put(apiPod('shop/new', '10.0.0.3'));
    server.compact();
    await server.start();
    await same(cluster);
    expect(cluster.gone.toSorted()).toEqual(['NetworkPolicy shop/web', 'shop/web']);
  });

  test('tells nothing twice when it has to list again', async () => {
    const cluster = await synced();
    const before = cluster.events.length;
    server.put(apiPod('shop/db', '10.0.0.2'));
    await same(cluster);
    server.compact();
    server.put(apiNode('node-2', '192.168.0.2'));
    server.say({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    await until('new lists', () => cluster.state.nodes.size === 2);
    server.put(apiNode('node-3', '192.168.0.3'));
    await same(cluster);
    expect(cluster.events.slice(before).map(({ key }) => key)).toEqual(['shop/db', 'node-2', 'node-3']);
  });

  test('tells nothing of a change that policy cannot see', async () => {
    const cluster = await synced();
    const before = cluster.events.length;
    const pod = apiPod('shop/web', '10.0.0.1', { app: 'web' });
    server.put({
      ...pod,
      status: { ...(pod.status as object), conditions: [{ type: 'Ready', status: 'True' }] },
    });
    server.put(apiPod('shop/db', '10.0.0.2'));
    await same(cluster);
    expect(cluster.events.slice(before).map(({ key }) => key)).toEqual(['shop/db']);
  });

  test('reads 1,204 pods, in pages where they do not stream', async () => {
    for (let i = 0; i < 1203; i++) server.put(apiPod(`shop/p${i}`, `10.1.${i >> 8}.${i & 255}`));
    const cluster = await synced();
    expect(cluster.state.pods.size).toBe(1204);
    const pages = server.requests.filter(
      ({ path, query }) => path.endsWith('/pods') && query.limit === '500',
    );
    expect(pages).toHaveLength(canStream ? 0 : 3);
  });

  test.each<[string, Fault]>([
    ['is reset', { type: 'reset' }],
    ['ends within an object', { type: 'truncate', bytes: 100 }],
    ['is refused by RBAC', { type: 'status', code: 403 }],
    ['fails with 500', { type: 'status', code: 500 }],
    ['is throttled', { type: 'status', code: 429, retryAfter: 1 }],
    ['is a page for people', { type: 'garbage' }],
    ['never comes', { type: 'silent' }],
  ])('is not ready while the list of policies %s, and is afterwards', async (_, fault) => {
    faultFor('networkpolicies', () => fault);
    const cluster = follow(fault.type === 'silent' ? 1_000 : 60_000);
    await until('the loss is told', () => cluster.told('NetworkPolicy').includes('lost'));
    expect(cluster.isReady).toBe(false);
    server.fault = () => undefined;
    await until('ready', () => cluster.isReady);
    await same(cluster);
    expect(cluster.gone).toEqual([]);
  });

  test('deletes nothing while lists fail, and what vanished once one succeeds', async () => {
    const cluster = await synced();
    faultFor('pods', request =>
      isResumed(request) ? { type: 'status', code: 410 } : { type: 'truncate', bytes: 40 },
    );
    server.delete('Pod', 'shop/web');
    await until('gone by the watch', () => cluster.gone.length === 1);
    for (const name of ['a', 'b']) server.put(apiPod(`shop/${name}`, '10.0.0.7'));
    await until('both', () => cluster.state.pods.size === 2);
    server.cut();
    server.delete('Pod', 'shop/a');
    await until('pods are lost', () => cluster.told('Pod').includes('lost'));
    expect([...cluster.state.pods.keys()]).toEqual(['shop/a', 'shop/b']);
    server.fault = () => undefined;
    await same(cluster);
    expect(cluster.gone).toEqual(['shop/web', 'shop/a']);
  });

  test('follows a storage that was rolled back, also where a revision means something else now', async () => {
    const backup = server.backup();
    server.put(apiPod('shop/web', '10.0.0.50'));
    server.put(apiPod('shop/later', '10.0.0.51'));
    const cluster = await synced();
    server.restore(backup);
    server.put(apiPod('shop/web', '10.0.0.60'));
    await same(cluster);
    expect(cluster.gone).toEqual(['shop/later']);
  });

  test('is content with bytes one by one', async () => {
    server.put(apiPod('shop/müller', '10.0.0.5', { app: 'ü' }));
    server.fault = () => ({ type: 'slow', bytes: 7 });
    await same(await synced());
  });
});

test('watchCluster() resumes after a cut where it was, and says nothing about it', async () => {
  const cluster = await synced();
  server.requests.length = 0;
  server.cut();
  server.put(apiPod('shop/db', '10.0.0.2'));
  await same(cluster);
  await until('all watches', () => server.watchCount === 7);
  expect(server.requests.filter(isWatch).every(isResumed)).toBe(true);
  expect(cluster.statuses.filter(({ state }) => state === 'lost')).toEqual([]);
});

test('watchCluster() says once that a source is lost and once that it is back', async () => {
  const cluster = await synced();
  await server.stop();
  await until('all are lost', () => cluster.statuses.filter(({ state }) => state === 'lost').length === 7);
  const before = cluster.pauses;
  await until('further tries', () => cluster.pauses >= before + 3 * 7);
  await server.start();
  await until(
    'all are back',
    () => cluster.statuses.filter(({ state }) => state === 'recovered').length === 7,
  );
  expect(cluster.told('Pod')).toEqual(['synced', 'lost', 'recovered']);
  expect(cluster.gone).toEqual([]);
});

test('watchCluster() drops a watch that has fallen silent', async () => {
  const cluster = await synced(60);
  server.requests.length = 0;
  await until('another watch of pods', () =>
    server.requests.some(r => r.path.endsWith('/pods') && isWatch(r)),
  );
  expect(cluster.gone).toEqual([]);
});

test('watchCluster() keeps a watch that gets bookmarks, and resumes from the last one', async () => {
  const cluster = await synced(1500);
  server.requests.length = 0;
  // A silent watch is dropped by a socket timeout, which uses real time, not fake timers.
  for (let i = 0; i < 12; i++) {
    await sleep(150);
    server.bookmark();
  }
  expect(server.requests).toEqual([]);
  server.put(apiNode('node-2', '192.168.0.2'));
  server.compact();
  server.bookmark();
  await sleep(100);
  server.cut();
  await until('all watches', () => server.watchCount === 7);
  expect(server.requests.filter(({ query }) => query.sendInitialEvents !== undefined)).toEqual([]);
  await same(cluster);
});

test('watchCluster() takes the new token when the old one is refused', async () => {
  const cluster = await synced();
  server.token = 'rotated';
  server.cut();
  await until('all watches', () => server.watchCount === 7);
  server.put(apiPod('shop/db', '10.0.0.2'));
  await same(cluster);
  expect(cluster.statuses.filter(({ state }) => state === 'lost')).toEqual([]);
});

test('watchCluster() asks for nothing at rest', async () => {
  const cluster = await synced();
  server.requests.length = 0;
  server.put(apiPod('shop/db', '10.0.0.2'));
  await same(cluster);
  expect(server.requests).toEqual([]);
});

test('watchCluster() tells nothing after it was closed', async () => {
  const cluster = await synced();
  const other = await synced(); // The server sends it each change after it has sent it to the first.
  const before = cluster.events.length;
  const closed = cluster.close();
  server.put(apiPod('shop/db', '10.0.0.2'));
  await closed;
  await same(other);
  expect(cluster.events.length).toBe(before);
  await until('the watches of the other alone', () => server.watchCount === 7);
});

test('watchCluster() makes of a policy that became unreadable what it makes of it after a restart, and says so', async () => {
  const cluster = await synced();
  server.put(apiNetworkPolicy('shop/web', 'web', { podSelector: 'all of them' }));
  await until('a problem', () => cluster.problems.length > 0);
  expect(cluster.problems[0]).toMatchObject({ object: 'NetworkPolicy shop/web', field: 'spec.podSelector' });
  await same(cluster);
  expect(cluster.state.policies.get('NetworkPolicy shop/web')).toMatchObject({
    subject: { pods: { requirements: [], unreadable: true } },
    ingress: [],
  });
  server.delete('NetworkPolicy', 'shop/web');
  await until('no problem', () => cluster.problems.length === 0);
  await same(cluster);
});

describe('watchCluster() and a CustomResourceDefinition', () => {
  const CRD = 'clusternetworkpolicies.policy.networking.k8s.io';

  test('reads its policies from the moment that it is there until it is gone', async () => {
    const cluster = await synced();
    expect(cluster.told('ClusterNetworkPolicy')).toEqual(['absent']);
    server.put(apiDefinition(['v1alpha2'], false));
    server.put(apiDefinition(['v1alpha2']));
    server.put(apiClusterPolicy('platform', 5));
    await same(cluster);
    expect(cluster.told('ClusterNetworkPolicy')).toEqual(['absent', 'synced v1alpha2']);
    server.delete('CustomResourceDefinition', CRD);
    await until('absent', () => cluster.told('ClusterNetworkPolicy').length === 3);
    expect(cluster.gone).toEqual(['ClusterNetworkPolicy platform']);
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 6));
    await same(cluster);
  });

  test('reads the better version once it is served, and deletes nothing on the way', async () => {
    server.put(apiDefinition(['v1alpha2']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    server.put(apiDefinition(['v1alpha2', 'v1beta1']));
    await until('the upgrade', () => cluster.told('ClusterNetworkPolicy').includes('synced v1beta1'));
    server.put(apiClusterPolicy('platform', 7));
    await same(cluster);
    expect(cluster.gone).toEqual([]);
  });

  test('is waited for before anything is ready', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    faultFor('clusternetworkpolicies', () => ({ type: 'status', code: 403 }));
    const cluster = follow();
    await until('the loss is told', () => cluster.told('ClusterNetworkPolicy').includes('lost v1beta1'));
    expect(cluster.isReady).toBe(false);
    server.fault = () => undefined;
    await until('ready', () => cluster.isReady);
    await same(cluster);
  });

  test('is waited for itself, and nobody takes a refusal for its absence', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    faultFor('customresourcedefinitions', () => ({ type: 'status', code: 403 }));
    const cluster = follow();
    const definition = 'CustomResourceDefinition clusternetworkpolicies';
    await until('the loss is told', () => cluster.told(definition).includes('lost'));
    expect(cluster.isReady).toBe(false);
    server.fault = () => undefined;
    await until('ready', () => cluster.isReady);
    await until('the definition', () => cluster.told(definition).length === 2);
    expect(cluster.told(definition)).toEqual(['lost', 'synced']);
    expect(cluster.told('ClusterNetworkPolicy')).toEqual(['synced v1beta1']);
    await same(cluster);
  });

  test('keeps its policies while they are answered with 404', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    faultFor('clusternetworkpolicies', () => ({ type: 'status', code: 404 }));
    server.cut();
    await until('the loss is told', () => cluster.told('ClusterNetworkPolicy').includes('lost v1beta1'));
    expect(cluster.gone).toEqual([]);
    server.fault = () => undefined;
    await same(cluster);
  });

  test('reads an unknown version as the best one that it knows, says so, and does the same after a restart', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    server.put(apiDefinition(['v2']));
    await until('the version', () => cluster.told('ClusterNetworkPolicy').includes('synced v2'));
    expect(cluster.problems.map(({ message }) => message)).toEqual([
      'is served only as v2, which is not known here',
    ]);
    server.put(apiClusterPolicy('another', 6));
    await same(cluster);
    const restarted = await synced();
    await same(restarted);
    expect(restarted.problems).toEqual(cluster.problems);
    server.put(apiDefinition(['v1beta1']));
    await until('no problem', () => cluster.problems.length === 0);
    await same(cluster);
    expect(cluster.gone).toEqual([]);
  });

  test('keeps its policies, and says why, when it is served in no version that is one', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    server.put(apiDefinition(['next']));
    await until('a problem', () => cluster.problems.length > 0);
    expect(cluster.problems[0]?.message).toBe(
      'is served only as next, and can be read only as v1beta1 or v1alpha2',
    );
    expect(cluster.told('ClusterNetworkPolicy')).toEqual(['synced v1beta1', 'lost']);
    expect(cluster.gone).toEqual([]);
    server.put(apiDefinition(['v1beta1']));
    await until('no problem', () => cluster.problems.length === 0);
    await same(cluster);
  });

  test('that cannot be read keeps nobody from its policies', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    faultFor('customresourcedefinitions', () => ({ type: 'status', code: 403 }));
    const cluster = follow();
    await until('the policies', () => cluster.told('ClusterNetworkPolicy').includes('synced v1beta1'));
    expect(cluster.state.policies.has('ClusterNetworkPolicy platform')).toBe(true);
    await until('the loss', () => cluster.told('AdminNetworkPolicy').includes('lost v1alpha1'));
    expect(cluster.isReady).toBe(false);
  });

  test('takes policies back that went with it while nobody could look', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    await server.stop();
    server.delete('CustomResourceDefinition', CRD);
    server.compact();
    await server.start();
    await same(cluster);
    expect(cluster.gone).toEqual(['ClusterNetworkPolicy platform']);
  });
});

describe('watchCluster() and a namespace that is deleted', () => {
  test('keeps its policies until its last pod is gone', async () => {
    const cluster = await synced();
    server.put(apiNamespace('shop', {}, true));
    server.delete('NetworkPolicy', 'shop/web');
    server.put(apiPod('shop/db', '10.0.0.2'));
    await until('the pod', () => cluster.state.pods.size === 2);
    server.delete('Pod', 'shop/db');
    await until('one pod', () => cluster.state.pods.size === 1);
    expect(cluster.state.policies.size).toBe(1);
    server.put(apiPod('shop/web', '10.0.0.1', {}, 'Succeeded'));
    await same(cluster);
    expect(cluster.gone).toEqual(['shop/db', 'NetworkPolicy shop/web']);
  });
});

describe('an object of another kind', () => {
  const to =
    (plural: string) =>
    ({ path }: FakeRequest) =>
      path.endsWith(`/${plural}`);
  const shop = { namespace: 'shop', name: 'web', resourceVersion: '900' };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: shop };

  test('in the watch of NetworkPolicies isolates the namespace, and the right one takes its place', async () => {
    const cluster = await synced();
    server.say({ type: 'MODIFIED', object: pod }, to('networkpolicies'));
    await until('the problem', () => cluster.problems.length > 0);
    expect(cluster.problems).toEqual([
      expect.objectContaining({
        object: 'NetworkPolicy shop/web',
        field: 'kind',
        about: expect.objectContaining({ kind: 'NetworkPolicy', namespace: 'shop', name: 'web' }),
      }),
    ]);
    expect(cluster.state.policies.get('NetworkPolicy shop/web')).toMatchObject({
      subject: { pods: { requirements: [], unreadable: true } },
      ingress: [],
      egress: [],
    });
    expect(cluster.state.pods).toEqual(stateOf(server).pods);
    server.put(apiNetworkPolicy('shop/web', 'other'));
    await same(cluster);
    expect([cluster.problems, cluster.gone]).toEqual([[], []]);
  });

  test('that is deleted in the watch of NetworkPolicies takes none away', async () => {
    const cluster = await synced();
    const lists = () =>
      server.requests.filter(
        ({ path, query }) => path.endsWith('/networkpolicies') && !query.resourceVersion,
      );
    const before = lists().length;
    server.say({ type: 'DELETED', object: pod }, to('networkpolicies'));
    await until('a list', () => lists().length > before);
    server.put(apiNetworkPolicy('shop/later', 'web'));
    await same(cluster);
    expect(cluster.gone).toEqual([]);
  });

  test.each([
    [
      'pods',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: shop,
        spec: { podSelector: {} },
      },
      'Pod shop/web',
    ],
    [
      'nodes',
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'node-1', resourceVersion: '900' } },
      'Node node-1',
    ],
    [
      'namespaces',
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'shop', resourceVersion: '900', deletionTimestamp: 'x' },
      },
      'Namespace shop',
    ],
  ])('in the watch of %s changes nothing, and is a problem', async (plural, object, name) => {
    const cluster = await synced();
    server.say({ type: 'MODIFIED', object }, to(plural));
    await until('the problem', () => cluster.problems.length > 0);
    expect(cluster.problems).toEqual([expect.objectContaining({ object: name, field: 'kind' })]);
    expect(cluster.state).toEqual(stateOf(server));
    expect(cluster.gone).toEqual([]);
  });

  test('in the watch of definitions leaves the policies in force', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    const cluster = await synced();
    const name = 'clusternetworkpolicies.policy.networking.k8s.io';
    server.say(
      {
        type: 'MODIFIED',
        object: { apiVersion: 'v1', kind: 'Pod', metadata: { name, resourceVersion: '900' } },
      },
      request =>
        to('customresourcedefinitions')(request) && (request.query.fieldSelector ?? '').endsWith(name),
    );
    await until('the problem', () => cluster.problems.length > 0);
    expect(cluster.problems).toEqual([
      expect.objectContaining({ object: `CustomResourceDefinition ${name}`, field: 'kind' }),
    ]);
    server.put(apiClusterPolicy('later', 6));
    await same(cluster);
    expect(cluster.gone).toEqual([]);
  });
});
