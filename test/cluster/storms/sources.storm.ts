/** Every source; definitions that come, are upgraded and go while the agent runs; a namespace that is deleted. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { Churn } from './churn.ts';
import { HOSTS, NODE } from './firm.ts';
import { clusterPolicy, definition, namespace, networkPolicy, pod, servedAs } from './objects.ts';
import { seed } from './seed.ts';
import { Storm } from './storm.ts';

const CLUSTER = definition('clusternetworkpolicies');
const [ADMIN, BASELINE] = ['adminnetworkpolicies', 'baselineadminnetworkpolicies'].map(definition);

let storm: Storm;
let churn: Churn;

beforeAll(async () => {
  storm = await Storm.begin();
  churn = new Churn(storm.api, seed);
  await storm.startAgent().inForce();
  await storm.calm();
  await storm.startProbing();
  await churn.begin();
});

afterAll(() => storm?.end());

test('a cluster without definitions of cluster-wide policies is followed', async () => {
  await churn.blow(60);
  await storm.calm();
});

test('AdminNetworkPolicy and BaselineAdminNetworkPolicy are followed as soon as they are defined', async () => {
  await define(ADMIN!);
  await define(BASELINE!);
  churn.clusterKinds = ['admin', 'baseline'];
  await churn.blow(60);
  await storm.calm();
});

test('ClusterNetworkPolicy is followed from v1alpha2 to v1beta1, and back', async () => {
  await define(CLUSTER);
  churn.clusterKinds = ['admin', 'baseline', 'cluster v1alpha2'];
  await churn.blow(60);
  await storm.calm();
  for (const [served, kind] of UPGRADES) {
    await define(servedAs(CLUSTER, served, ['v1alpha2', 'v1beta1']));
    churn.clusterKinds = ['admin', 'baseline', kind];
    await churn.blow(30);
    await storm.calm();
  }
});

const UPGRADES = [
  [['v1alpha2', 'v1beta1'], 'cluster v1beta1'],
  [['v1beta1'], 'cluster v1beta1'],
  [['v1alpha2'], 'cluster v1alpha2'],
] as const;

test('policies whose definition is removed are gone, and are not back when it is', async () => {
  const deny = {
    tier: 'Admin',
    priority: 1,
    subject: { namespaces: {} },
    ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
  };
  await storm.api.apply(
    clusterPolicy('deny-blue', { ...deny, subject: { namespaces: { matchLabels: { team: 'a' } } } }),
  );
  await storm.calm();
  for (const gone of [CLUSTER, ADMIN!, BASELINE!]) await storm.api.remove(gone);
  churn.clusterKinds = [];
  await churn.blow(20);
  await storm.calm();
  await define(CLUSTER);
  await storm.calm();
});

test('policies of a namespace that is being deleted hold until its last pod is gone', async () => {
  await storm.api.remove(namespace('doomed'));
  // Servers before 1.33 delete in any order; this one would wait with its policies for its pods.
  await storm.api.remove(networkPolicy('doomed/closed', {}));
  // Whatever the agent does now with its pod, the prober sees it.
  await setTimeout(3000);
  expect(await storm.api.exists(pod('doomed/d', { node: NODE, ips: HOSTS['doomed/d'] }))).toBe(true);
});

test('not one packet was judged wrong meanwhile', async () => {
  expect(await storm.stopProbing()).toEqual([]);
});

test('after its last pod the namespace and its policies are forgotten', async () => {
  await storm.api.remove(pod('doomed/d', { node: NODE, ips: HOSTS['doomed/d'] }));
  await until('the namespace is gone', async () => !(await storm.api.exists(namespace('doomed'))));
  await storm.calm();
});

async function define(manifest: ReturnType<typeof definition>): Promise<void> {
  await storm.api.apply(manifest);
  await storm.api.established(manifest);
}
