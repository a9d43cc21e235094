/** Which open connections are spared while a policy isolates already and its allow rules are still to come. */
import { expect, test } from 'vitest';
import { ingressPolicy, podEvent, policyEvent, tenantPod } from '../../../test/support/agent/tenants.ts';
import { ClusterState } from '../../model/cluster.ts';
import type { PolicyId } from '../../model/policy.ts';
import { AwaitingAllowances } from './liveconnections.ts';

const requirements = [{ key: 'app', operator: 'In' as const, values: ['web'] }];
const web = tenantPod('shop', 1, { labels: { app: 'web' } });
const pods = [
  web,
  tenantPod('shop', 2),
  tenantPod('shop', 3, { labels: { app: 'web' }, node: 'n2' }),
  tenantPod('other', 1, { labels: { app: 'web' } }),
];

function clusterOf(policies: number): [ClusterState, ReadonlySet<PolicyId>] {
  const made = Array.from({ length: policies }, (_, n) => ingressPolicy(`shop/${n}`, [], requirements));
  const state = new ClusterState();
  for (const name of ['shop', 'other'])
    state.apply({ type: 'namespace', key: name, value: { name, labels: {} } });
  for (const event of [...pods.map(podEvent), ...made.map(policyEvent)]) state.apply(event);
  return [state, new Set(made.map(({ id }) => id))];
}

test('it is the pods of the node that the policy selects, for a second since it isolates', () => {
  const [cluster, isolating] = clusterOf(1);
  const awaiting = new AwaitingAllowances('n1', 1000);
  expect(awaiting.of(cluster, isolating, 0)).toEqual(new Set(web.addresses));
  expect(awaiting.of(cluster, isolating, 999)).toEqual(new Set(web.addresses));
  expect(awaiting.of(cluster, isolating, 1000)).toEqual(new Set());
  expect(awaiting.of(cluster, new Set(), 1001)).toEqual(new Set());
  expect(awaiting.of(cluster, isolating, 1002)).toEqual(new Set(web.addresses));
});

test('it is nobody of a namespace that has more of them than are looked at', () => {
  const [cluster, isolating] = clusterOf(51);
  expect(new AwaitingAllowances('n1', 1000).of(cluster, isolating, 0)).toEqual(new Set());
});
