/** A namespace is being deleted, its policies are gone and a pod is not: that the agent is restarted opens nothing. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { isolatedPodsIn } from '../../src/compiler/isolatedpods.ts';
import { FollowedCluster } from '../support/api/clusterwatch.ts';
import { apiNamespace, apiNetworkPolicy, apiNode, apiPod } from '../support/api/objects.ts';
import { FakeApiServer } from '../support/api/server.ts';
import { until } from '../support/until.ts';

const NODE = 'node-1';

let server: FakeApiServer;

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
  server.put(apiNamespace('shop'));
  server.put(apiNode(NODE, '192.168.0.1'));
  server.put(apiPod('shop/web', '10.0.0.1', { app: 'web' }));
  server.put(apiNetworkPolicy('shop/web', 'web'));
});

afterEach(() => server.stop());

/** An agent's life: it begins with whom the rules in force isolate, and ends with those of its last commit. */
async function lifeOf(agent: {
  readonly before: ReturnType<typeof isolatedPodsIn>;
  readonly meanwhile?: () => void;
}) {
  const cluster = new FollowedCluster(server, 60_000, NODE, agent.before);
  await until('ready', () => cluster.isReady);
  const first = isolatedPodsIn(compile(cluster.state, NODE));
  agent.meanwhile?.();
  if (agent.meanwhile !== undefined)
    await until('the end', () => cluster.state.policies.size === 0 || held(cluster));
  await cluster.close();
  return { first, last: isolatedPodsIn(compile(cluster.state, NODE)) };
}

function held({ events }: FollowedCluster): boolean {
  return events.filter(({ type }) => type === 'policy').length > 1;
}

test('through two restarts, until the pod is gone', async () => {
  const isolated = new Map([['shop/web', new Set(['ingress'])]]);
  const one = await lifeOf({
    before: new Map(),
    meanwhile: () => {
      server.put(apiNamespace('shop', {}, true));
      server.delete('NetworkPolicy', 'shop/web');
    },
  });
  expect([one.first, one.last]).toEqual([isolated, isolated]);
  const two = await lifeOf({ before: one.last });
  expect(two.first).toEqual(isolated);
  const three = await lifeOf({ before: two.last, meanwhile: () => server.delete('Pod', 'shop/web') });
  expect(three.first).toEqual(isolated);
  expect(three.last).toEqual(new Map());
  expect((await lifeOf({ before: new Map() })).first).toEqual(new Map());
});

test.each([1, 62, 122, 253])('also of a pod whose name has %i letters', async length => {
  const name = 'w'.repeat(length);
  server.put(apiPod(`shop/${name}`, '10.0.0.2', { app: 'web' }));
  server.delete('Pod', 'shop/web');
  const { first } = await lifeOf({ before: new Map() });
  expect([...first.values()]).toEqual([new Set(['ingress'])]);
  server.put(apiNamespace('shop', {}, true));
  server.delete('NetworkPolicy', 'shop/web');
  expect((await lifeOf({ before: first })).first).toEqual(first);
});

test('and a policy that was deleted while its namespace lives on is gone by a restart', async () => {
  const { last } = await lifeOf({ before: new Map() });
  server.delete('NetworkPolicy', 'shop/web');
  expect((await lifeOf({ before: last })).first).toEqual(new Map());
});
