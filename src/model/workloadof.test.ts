import { expect, test } from 'vitest';
import type { Pod } from './cluster.ts';
import { inventoryOf, NO_INVENTORY } from './inventory.ts';
import type { Controller, Workload } from './workload.ts';
import { podsByWorkload, topWorkloads, workloadOf } from './workloadof.ts';

const pod = (name: string, labels = {}): Pod => ({
  key: `shop/${name}`,
  namespace: 'shop',
  name,
  labels,
  node: '',
  addresses: [],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
});
const workload = (kind: Workload['kind'], name: string, owner?: Controller): Workload => ({
  id: `${kind} shop/${name}`,
  kind,
  namespace: 'shop',
  name,
  labels: {},
  ports: [],
  hostNetwork: false,
  ...(owner && { owner }),
});
const owned = (name: string, kind: string, owner: string) =>
  ({ type: 'pod', pod: `shop/${name}`, owner: { kind, name: owner }, hostPorts: [] }) as const;

test.each([
  ['nobody: itself', pod('a'), NO_INVENTORY, 'Pod shop/a'],
  ['a StatefulSet', pod('db-0'), inventoryOf([owned('db-0', 'StatefulSet', 'db')]), 'StatefulSet shop/db'],
  [
    'a ReplicaSet whose Deployment is known',
    pod('a'),
    inventoryOf([
      owned('a', 'ReplicaSet', 'web-1'),
      { type: 'workload', value: workload('ReplicaSet', 'web-1', { kind: 'Deployment', name: 'web' }) },
    ]),
    'Deployment shop/web',
  ],
  [
    'a ReplicaSet that nobody listed: its name and its hash give the Deployment away',
    pod('a', { 'pod-template-hash': '7d9f8' }),
    inventoryOf([owned('a', 'ReplicaSet', 'web-7d9f8')]),
    'Deployment shop/web',
  ],
  [
    'a ReplicaSet of its own',
    pod('a'),
    inventoryOf([owned('a', 'ReplicaSet', 'web')]),
    'ReplicaSet shop/web',
  ],
  [
    'a Job of a CronJob',
    pod('a'),
    inventoryOf([
      owned('a', 'Job', 'nightly-1'),
      { type: 'workload', value: workload('Job', 'nightly-1', { kind: 'CronJob', name: 'nightly' }) },
    ]),
    'CronJob shop/nightly',
  ],
  ['a node (a static pod): itself', pod('etcd'), inventoryOf([owned('etcd', 'Node', 'n1')]), 'Pod shop/etcd'],
])('workloadOf() a pod that is controlled by %s', (_, subject, inventory, id) => {
  expect(workloadOf(inventory, subject).id).toBe(id);
});

test('podsByWorkload() groups pods, and leaves out those that have finished', () => {
  const pods = [pod('db-0'), pod('db-1'), { ...pod('db-2'), finished: true }, pod('a')];
  const cluster = {
    namespaces: new Map(),
    nodes: new Map(),
    policies: new Map(),
    pods: new Map(pods.map(each => [each.key, each])),
  };
  const inventory = inventoryOf([0, 1, 2].map(n => owned(`db-${n}`, 'StatefulSet', 'db')));
  const groups = podsByWorkload(cluster, inventory);
  expect([...groups].map(([id, found]) => [id, found.map(({ name }) => name)])).toEqual([
    ['StatefulSet shop/db', ['db-0', 'db-1']],
    ['Pod shop/a', ['a']],
  ]);
});

test.each([
  ['ReplicaSet', 'web-1', 'Rollout', 'web', 'Rollout shop/web'],
  ['ReplicationController', 'web-1', 'DeploymentConfig', 'web', 'DeploymentConfig shop/web'],
  // An operator's StatefulSet stays what kubectl lists.
  ['StatefulSet', 'prometheus-k8s', 'Prometheus', 'k8s', 'StatefulSet shop/prometheus-k8s'],
])('workloadOf() a pod of a %s %s of a %s is %s', (kind, name, above, owner, id) => {
  const value = workload(kind, name, { kind: above, name: owner });
  const inventory = inventoryOf([owned('a', kind, name), { type: 'workload', value }]);
  expect(workloadOf(inventory, pod('a')).id).toBe(id);
});

test('workloadOf() a pod of a custom workload is the workload', () => {
  const value = workload('CloneSet', 'web');
  expect(
    workloadOf(inventoryOf([owned('a', 'CloneSet', 'web'), { type: 'workload', value }]), pod('a')).id,
  ).toBe('CloneSet shop/web');
});

test('workloadOf() a pod of a kind that no cluster lists is its owner', () => {
  expect(workloadOf(inventoryOf([owned('a', 'CloneSet', 'web')]), pod('a')).id).toBe('CloneSet shop/web');
});

test('topWorkloads() leaves out what another one made', () => {
  const inventory = inventoryOf(
    [
      workload('Deployment', 'web'),
      workload('ReplicaSet', 'web-1', { kind: 'Deployment', name: 'web' }),
      workload('ReplicaSet', 'lost-1', { kind: 'Deployment', name: 'lost' }),
      workload('Job', 'rollout', { kind: 'Rollout', name: 'x' }),
    ].map(value => ({ type: 'workload', value })),
  );
  expect(topWorkloads(inventory).map(({ id }) => id)).toEqual([
    'Deployment shop/web',
    'Deployment shop/lost',
    'Job shop/rollout',
  ]);
});

test('topWorkloads() takes the generations of a Rollout, which no cluster lists, as one, by the one that runs', () => {
  const rollout = { kind: 'Rollout', name: 'web' };
  const generation = (n: number, replicas: number) => ({
    ...workload('ReplicaSet', `web-${n}`, rollout),
    labels: { generation: `${n}` },
    replicas,
  });
  const all = [generation(1, 0), generation(2, 3), generation(3, 0)];
  const inventory = inventoryOf(all.map(value => ({ type: 'workload', value })));
  expect(topWorkloads(inventory).map(({ id, labels }) => [id, labels])).toEqual([
    ['Rollout shop/web', { generation: '2' }],
  ]);
});
