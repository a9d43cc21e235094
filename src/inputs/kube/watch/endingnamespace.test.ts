/**
 * The deletion of a policy may arrive before that of its namespace: the pods that it isolated stay isolated, whatever
 * the order and time of the watches' events.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FollowedCluster, isSameState, stateOf } from '../../../../test/support/api/clusterwatch.ts';
import { apiNamespace, apiNetworkPolicy, apiNode } from '../../../../test/support/api/objects.ts';
import type { FakeApiServer, FakeRequest, Fault } from '../../../../test/support/api/server.ts';
import { startShop } from '../../../../test/support/api/shop.ts';
import { until } from '../../../../test/support/until.ts';
import type { PodKey } from '../../../model/cluster.ts';
import type { Direction, Policy } from '../../../model/policy.ts';

const ISOLATED = new Map<PodKey, ReadonlySet<Direction>>([['shop/web', new Set(['ingress'])]]);
/** A watch that ends before that has failed, by the clock of `FollowedCluster`. */
const LONG_WATCH_MS = 1_100;

let server: FakeApiServer;
let cluster: FollowedCluster;

beforeEach(async () => {
  server = await startShop();
  server.put(apiNetworkPolicy('shop/web', 'web', { ingress: [{}] }));
});

afterEach(async () => {
  await cluster.close();
  await server.stop();
});

async function synced(): Promise<void> {
  cluster = new FollowedCluster(server, 60_000, 'node-1');
  await until('ready', () => cluster.isReady);
}

/** An agent that starts over rules that isolate the pod. */
function restarted(): void {
  cluster = new FollowedCluster(server, 60_000, 'node-1', ISOLATED);
}

const ofNamespaces = ({ path }: FakeRequest) => path.endsWith('/namespaces');
const isWatch = ({ query }: FakeRequest) => query.watch === 'true';
const REFUSED: Fault = { type: 'status', code: 403 };

/** The policies that isolate the pod, without their allow rules. */
function isolating(): readonly Policy[] {
  return [...cluster.state.policies.values()].filter(({ ingress }) => ingress?.length === 0);
}

function endNamespace(): void {
  server.put(apiNamespace('shop', {}, true));
  server.delete('NetworkPolicy', 'shop/web');
}

async function staysUntilThePodIsGone(): Promise<void> {
  await until('it isolates', () => isolating().length === 1);
  server.put(apiNode('node-2', '192.168.0.2'));
  await until('what comes later', () => cluster.state.nodes.size === 2);
  expect(isolating()).toHaveLength(1);
  server.delete('Pod', 'shop/web');
  await until('nothing is held', () => cluster.state.policies.size === 0);
}

test.each<[string, Fault]>([
  ['is not answered', { type: 'silent' }],
  ['is refused', REFUSED],
])('while the next watch of namespaces %s', async (_, fault) => {
  await synced();
  server.fault = request => (ofNamespaces(request) && isWatch(request) ? fault : undefined);
  cluster.later(LONG_WATCH_MS);
  server.endWatches();
  await until('another watch', () => server.requests.filter(ofNamespaces).length > 1);
  endNamespace();
  await staysUntilThePodIsGone();
});

test('and what was allowed goes while nobody answers whether the namespace lives', async () => {
  await synced();
  server.fault = request => (ofNamespaces(request) ? { type: 'silent' } : undefined);
  server.delete('NetworkPolicy', 'shop/web');
  await until('it isolates', () => isolating().length === 1);
  server.fault = () => undefined;
  server.cut();
  await until('it is gone', () => cluster.state.policies.size === 0);
});

test('a policy that is deleted in a namespace that lives is gone, however often the watch of namespaces is cut', async () => {
  await synced();
  server.fault = request =>
    ofNamespaces(request) && isWatch(request) ? { type: 'truncate', bytes: 1 } : undefined;
  server.cut();
  server.delete('NetworkPolicy', 'shop/web');
  await until('it is gone', () => cluster.state.policies.size === 0);
});

test('of an agent that starts when the namespace was read before it ended, and the policies afterwards', async () => {
  server.fault = ({ path }) => (path.endsWith('/networkpolicies') ? REFUSED : undefined);
  restarted();
  await until('the namespace', () => cluster.state.namespaces.has('shop'));
  await until('the policies are lost', () => cluster.told('NetworkPolicy').includes('lost'));
  server.fault = request => (ofNamespaces(request) && isWatch(request) ? { type: 'silent' } : undefined);
  server.cut();
  endNamespace();
  await until('ready', () => cluster.isReady);
  expect(isolating()).toHaveLength(1);
  await staysUntilThePodIsGone();
});

test('of an agent that starts while namespaces cannot be read', async () => {
  endNamespace();
  server.fault = request => (ofNamespaces(request) ? REFUSED : undefined);
  restarted();
  await staysUntilThePodIsGone();
});

test('an agent that starts isolates nobody for a policy that was deleted while its namespace lived', async () => {
  server.delete('NetworkPolicy', 'shop/web');
  restarted();
  await until('ready', () => cluster.isReady);
  await until('the same state', () => isSameState(cluster.state, stateOf(server)));
});
