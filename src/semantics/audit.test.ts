import { expect, test } from 'vitest';
import { type Cluster, ClusterState } from '../model/cluster.ts';
import { viewWith } from './audit.ts';
import { viewOf } from './view.ts';

test('viewWith() follows a view that comes to another cluster', () => {
  let cluster: Cluster = new ClusterState();
  const live = {
    ...viewOf(cluster),
    get cluster() {
      return cluster;
    },
  };
  const view = viewWith(live, []);
  cluster = { ...cluster, resolved: { has: () => true } };
  expect(view.cluster).toBe(cluster);
});
