/** Objects of any size come by list, by streamed list and by watch; what is too large of them fails closed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FollowedCluster } from '../../../../test/support/api/clusterwatch.ts';
import { apiNamespace, apiNetworkPolicy, apiPod } from '../../../../test/support/api/objects.ts';
import { FakeApiServer } from '../../../../test/support/api/server.ts';
import { until } from '../../../../test/support/until.ts';
import type { Pod } from '../../../model/cluster.ts';
import { nextLimit } from './listpage.ts';

let server: FakeApiServer;
let cluster: FollowedCluster;

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
  server.put(apiNamespace('shop'));
});

afterEach(async () => {
  await cluster.close();
  await server.stop();
});

const LONG = 'x'.repeat(3_000_000);

function hugePod(name: string): ReturnType<typeof apiPod> {
  const containers = [
    { name: 'main', env: [{ name: 'A', value: LONG }], ports: [{ name: 'web', containerPort: 80 }] },
  ];
  return { ...apiPod(name, '10.0.0.1', { app: 'web' }), spec: { nodeName: 'node-1', containers } };
}

/** A policy with peers of 3 MB in all, more than the server would store. */
function hugePolicy(name: string): ReturnType<typeof apiPod> {
  const peer = { podSelector: { matchLabels: { app: 'x'.repeat(60) } } };
  return apiNetworkPolicy(name, 'web', { ingress: [{ from: Array(30_000).fill(peer) }] });
}

describe.each([
  ['pages', false],
  ['a stream', true],
])('objects of megabytes, listed as %s', (_, canStream) => {
  beforeEach(async () => {
    server.canStream = canStream;
  });

  const follow = async () => {
    cluster = new FollowedCluster(server);
    await cluster.ready;
  };

  test('a pod is what policy depends on', async () => {
    server.put(hugePod('shop/web'));
    await follow();
    const ports = [{ name: 'web', protocol: 'TCP', port: 80 }];
    expect(cluster.state.pods.get('shop/web')).toMatchObject({
      labels: { app: 'web' },
      ports,
      node: 'node-1',
    });
    server.put(hugePod('shop/late'));
    await until('the pod', () => cluster.state.pods.has('shop/late'));
    expect(cluster.state.pods.get('shop/late')).toMatchObject({ labels: { app: 'web' }, ports });
    expect(cluster.problems).toEqual([]);
  });

  test('a policy isolates, allows nothing, and its author is told', async () => {
    server.put(hugePolicy('shop/listed'));
    await follow();
    server.put(hugePolicy('shop/watched'));
    await until('the policy', () => cluster.state.policies.size === 2);
    for (const name of ['listed', 'watched']) {
      expect(cluster.state.policies.get(`NetworkPolicy shop/${name}`)).toMatchObject({
        subject: { pods: { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } },
        ingress: [],
      });
    }
    expect(cluster.problems.map(({ message }) => message)).toContain(
      'must be a list, not "too large to be read"',
    );
  });

  test('a pod whose labels are megabytes is known, and its labels are not', async () => {
    const labels = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, i) => [`some-label-${i}`, 'some-value']),
    );
    server.put(apiPod('shop/web', '10.0.0.1', labels));
    await follow();
    expect(cluster.state.pods.get('shop/web')).toMatchObject({
      labels: {},
      partial: true,
    } satisfies Partial<Pod>);
  });
});

test('nextLimit() asks for as many objects as make a page, one at least, and for twice as many as before at most', () => {
  expect(nextLimit(500, 2_000_000)).toBe(500);
  expect(nextLimit(500, 700_000_000)).toBe(11);
  expect(nextLimit(11, 700_000_000)).toBe(1);
  expect(nextLimit(1, 1_400_000)).toBe(2);
  expect(nextLimit(64, 100)).toBe(128);
  expect(nextLimit(500, 0)).toBe(500);
});
