/** Services of an API server, for their names: followed like all else, and nothing waits for them. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeApiServer } from '../../../../test/support/api/server.ts';
import { until } from '../../../../test/support/until.ts';
import type { ServiceKey } from '../../../model/service.ts';
import { type ClusterWatch, type SourceStatus, watchCluster } from './source.ts';

let server: FakeApiServer;
let watch: ClusterWatch;
const known = new Map<ServiceKey, string>();
const states: string[] = [];
const sources: SourceStatus[] = [];

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
  known.clear();
  states.length = 0;
  sources.length = 0;
  server.put(service('web', '10.96.0.1'));
});

afterEach(async () => {
  await watch.close();
  await server.stop();
});

function service(name: string, clusterIP: string) {
  const spec = { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, name: 'http' }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name }, spec };
}

function follow(): void {
  watch = watchCluster(
    server.access,
    { onEvents: () => {}, onProblems: () => {}, onSource: status => void sources.push(status) },
    {
      services: {
        put: ({ key, clusterIps }) => void known.set(key, clusterIps.join()),
        delete: key => void known.delete(key),
        keys: () => known.keys(),
        onSource: ({ state }) => void states.push(state),
      },
    },
  );
}

test('watchCluster() follows Services where somebody wants their names', async () => {
  follow();
  await until('the list', () => known.get('shop/web') === '10.96.0.1');
  server.put(service('db', '10.96.0.2'));
  server.delete('Service', 'shop/web');
  await until('the changes', () => [...known.keys()].join() === 'shop/db');
  expect(states).toEqual(['synced']);
});

test('Services that may not be read hold up nothing, and are no part of what the cluster is', async () => {
  server.fault = ({ path }) => (path.endsWith('/services') ? { type: 'status', code: 403 } : undefined);
  follow();
  await watch.ready;
  await until('the refusal', () => states.includes('lost'));
  expect(sources.some(({ source }) => source === 'Service')).toBe(false);
  server.fault = () => undefined;
  await until('the list', () => known.size === 1);
  expect(states).toEqual(['lost', 'synced']);
});
