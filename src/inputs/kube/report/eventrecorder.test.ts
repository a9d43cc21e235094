/** Events on a server: three agents, one author. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FollowedCluster } from '../../../../test/support/api/clusterwatch.ts';
import {
  apiClusterPolicy,
  apiDefinition,
  apiNetworkPolicy,
  apiPod,
} from '../../../../test/support/api/objects.ts';
import { FakeApiServer, type FakeRequest, type KubeObject } from '../../../../test/support/api/server.ts';
import { until } from '../../../../test/support/until.ts';
import { ApiError } from '../client/api.ts';
import { type EventSpec, eventName } from './event.ts';
import { EventRecorder } from './eventrecorder.ts';

const BAD_RULE = { ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/33' } }] }] };
const NOTE =
  'spec.ingress[0].from[0].ipBlock.cidr "10.0.0.0/33" is not a network; the peer matches nothing until it is fixed';

let server: FakeApiServer;
const followed: FollowedCluster[] = [];

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
});

afterEach(async () => {
  await Promise.all(followed.splice(0).map(cluster => cluster.close()));
  await server.stop();
});

async function agent(node: string): Promise<FollowedCluster> {
  const cluster = new FollowedCluster(server, 60_000, node);
  followed.push(cluster);
  await until('ready', () => cluster.isReady);
  return cluster;
}

function policy(generation: number, spec: object = BAD_RULE): KubeObject {
  const object = apiNetworkPolicy('shop/web', 'web', spec);
  return { ...object, metadata: { ...object.metadata, uid: '6c2b', generation } };
}

/** Resolves when the Event about the last problem was posted, and so all earlier ones. */
async function toldOfLast(): Promise<void> {
  server.put(apiNetworkPolicy('shop/last', 'last', BAD_RULE));
  const isOfLast = ({ involvedObject }: KubeObject) => (involvedObject as { name: string }).name === 'last';
  await until('the last Event', () => [...server.events.values()].some(isOfLast));
}

const isPost = ({ method }: FakeRequest) => method === 'POST';
const posts = () => server.requests.filter(isPost).length;
const messages = () => [...server.events.values()].map(({ message }) => message);

describe('watchCluster() tells authors', () => {
  test('one Event of a problem, though three agents see it', async () => {
    server.put(policy(1));
    await Promise.all(['one', 'two', 'three'].map(agent));
    await until('all have said it', () => posts() === 3);
    await until('the Event', () => server.events.size > 0);
    expect(messages()).toEqual([`${NOTE} (generation 1)`]);
    const [event] = server.events.values();
    expect(event).toMatchObject({ involvedObject: { kind: 'NetworkPolicy', name: 'web', uid: '6c2b' } });
    expect(followed.flatMap(({ troubles }) => troubles)).toEqual([]);
  });

  test('once, however often the policies are listed anew', async () => {
    server.put(policy(1));
    const cluster = await agent('one');
    await until('the Event', () => server.events.size === 1);
    server.put(apiPod('shop/web', '10.0.0.1'));
    server.compact();
    server.say({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    server.put(policy(1));
    server.put(apiPod('shop/db', '10.0.0.2'));
    await until('news', () => cluster.state.pods.size === 2);
    await toldOfLast();
    expect(posts()).toBe(2);
  });

  test('of the next generation again, and nothing of one that is mended', async () => {
    server.put(policy(1));
    const cluster = await agent('one');
    await until('the Event', () => server.events.size === 1);
    server.put(policy(2));
    await until('another Event', () => server.events.size === 2);
    expect(messages()).toEqual([`${NOTE} (generation 1)`, `${NOTE} (generation 2)`]);
    server.put(policy(3, {}));
    await until('no problem', () => cluster.problems.length === 0);
    await toldOfLast();
    expect(posts()).toBe(3);
  });

  test('of a policy that lives in no namespace in namespace default', async () => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5000));
    await agent('one');
    await until('the Event', () => server.events.size === 1);
    const [[key, event]] = [...server.events] as [[string, KubeObject]];
    expect(key).toMatch(/^\/api\/v1\/namespaces\/default\/events\/sluice\./);
    expect(event.involvedObject).toEqual({
      apiVersion: 'policy.networking.k8s.io/v1beta1',
      kind: 'ClusterNetworkPolicy',
      name: 'platform',
    });
  });

  test('nothing of pods, and nothing at all where nothing is wrong', async () => {
    server.put(apiNetworkPolicy('shop/web', 'web'));
    const pod = apiPod('shop/bad', 'no address');
    server.put(pod);
    const cluster = await agent('one');
    expect(cluster.problems).toHaveLength(1);
    await toldOfLast();
    expect(posts()).toBe(1);
  });

  test.each([403, 404, 429, 500])(
    'although it is refused with %i: policy is followed, the reason told once',
    async code => {
      server.put(policy(1));
      server.fault = request => (isPost(request) ? { type: 'status', code } : undefined);
      const cluster = await agent('one');
      await until('several tries', () => posts() >= 3);
      expect(cluster.troubles).toEqual([expect.stringContaining(`${code}`)]);
      server.put(policy(2, {}));
      await until('the policy is followed', () => cluster.problems.length === 0);
      expect(cluster.told('NetworkPolicy')).toEqual(['synced']);
      server.fault = () => undefined;
      server.put(policy(3));
      await until('the Event', () => server.events.size === 1);
      expect(messages()).toEqual([`${NOTE} (generation 3)`]);
    },
  );
});

const spec = (i: number): EventSpec => ({
  about: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: `p${i}`, uid: `${i}` },
  type: 'Normal',
  reason: 'Gate',
  note: 'its rules are in force',
});

/** A poster, what it sent, and how long it waited before each. */
function poster(create: (object: object) => Promise<void>) {
  const waits: number[] = [];
  const stop = new AbortController();
  const timing = {
    now: () => 0,
    random: () => 0.5,
    sleep: async (ms: number) => {
      waits.push(ms);
      if (waits.length > 5000) stop.abort();
    },
  };
  const troubles: string[] = [];
  const made = new EventRecorder({
    api: { create: (_, object) => create(object) },
    node: 'one',
    timing,
    onTrouble: reason => void troubles.push(reason),
  });
  return { made, waits, stop, troubles };
}

describe('EventRecorder', () => {
  test('waits before each, keeps a thousand at most, and says each once', async () => {
    const sent: object[] = [];
    const { made, waits, stop } = poster(async object => void sent.push(object));
    for (let i = 0; i < 1500; i++) made.post(spec(i));
    for (let i = 0; i < 1500; i++) made.post(spec(i));
    expect(made.size).toBe(1000);
    const running = made.run(stop.signal);
    await until('all sent', () => made.size === 0 && sent.length === 1000);
    stop.abort();
    await running;
    expect(new Set(waits.slice(0, 1000))).toEqual(new Set([500]));
    expect(sent[0]).toMatchObject({
      reason: 'Gate',
      type: 'Normal',
      involvedObject: { name: 'p0', uid: '0' },
    });
  });

  test('tries again ever later, five minutes at most, gives up, and goes on with others', async () => {
    const tried: string[] = [];
    const { made, waits, stop, troubles } = poster(async object => {
      const { name } = (object as { involvedObject: { name: string } }).involvedObject;
      tried.push(name);
      if (name === 'p1') throw new ApiError(403, 'the namespace is being deleted');
    });
    made.post(spec(1));
    const running = made.run(stop.signal);
    await until('given up', () => made.size === 0 && tried.length === 10);
    expect(waits.slice(0, 10).map(ms => ms / 1000)).toEqual([0.5, 0.75, 1.5, 3, 6, 12, 24, 48, 96, 192]);
    made.post(spec(2));
    await until('another', () => tried.length === 11);
    stop.abort();
    await running;
    expect(waits[10]).toBe(225_000);
    expect(troubles).toEqual(['the namespace is being deleted']);
  });

  test('does not try again what was withdrawn while it was under way', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const tried: string[] = [];
    const { made, stop } = poster(object => {
      const { name } = (object as { involvedObject: { name: string } }).involvedObject;
      tried.push(name);
      return name === 'p1' ? promise : Promise.resolve();
    });
    made.post(spec(1));
    const running = made.run(stop.signal);
    await until('under way', () => tried.length === 1);
    made.withdraw(eventName(spec(1)));
    made.post(spec(2));
    reject(new ApiError(500, 'broken'));
    await until('another', () => tried.includes('p2'));
    made.post(spec(3)); // Another try of the first would come before it.
    await until('the last', () => tried.includes('p3'));
    expect([made.size, tried]).toEqual([0, ['p1', 'p2', 'p3']]);
    stop.abort();
    await running;
  });

  test('says nothing more of what was withdrawn', async () => {
    const sent: object[] = [];
    const { made, stop } = poster(async object => void sent.push(object));
    made.post(spec(1));
    made.post(spec(2));
    made.withdraw(eventName(spec(1)));
    const running = made.run(stop.signal);
    await until('sent', () => sent.length > 0);
    stop.abort();
    await running;
    expect(sent).toEqual([
      expect.objectContaining({ involvedObject: expect.objectContaining({ name: 'p2' }) }),
    ]);
  });
});
