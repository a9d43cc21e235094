import { expect, test } from 'vitest';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import { ClusterState } from '../model/cluster.ts';
import { compile } from './compile.ts';
import { isolatedPodsIn } from './isolatedpods.ts';

function networkPolicy(name: string, app: string, spec: object) {
  const podSelector = { matchLabels: { app } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: 'shop', name },
    spec: { podSelector, ...spec },
  };
}

const ALL = { namespaces: {} };
const CLUSTER_POLICY = {
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'firm' },
  spec: {
    tier: 'Admin',
    priority: 1,
    subject: ALL,
    ingress: [{ action: 'Deny', from: [{ namespaces: { matchLabels: { team: 'other' } } }] }],
    egress: [{ action: 'Pass', to: [{ namespaces: { matchLabels: { team: 'other' } } }] }],
  },
};

const MANY = Array.from({ length: 40 }, (_, i) => ({
  ports: [{ port: i + 1 }],
  from: [{ ipBlock: { cidr: `192.0.${i}.0/24` } }],
}));

function cluster(...objects: object[]): ClusterState {
  const state = new ClusterState();
  for (const [at, app] of ['open', 'shut', 'both', 'many'].entries())
    state.apply(
      decodeObject({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'shop', name: app, labels: { app } },
        spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
        status: { phase: 'Running', podIPs: [{ ip: `10.0.0.${at + 1}` }, { ip: `fd00::${at + 1}` }] },
      }).event!,
    );
  for (const object of objects) state.apply(decodeObject(object).event!);
  return state;
}

const POLICIES = [
  networkPolicy('shut', 'shut', { policyTypes: ['Ingress'] }),
  networkPolicy('out', 'both', { policyTypes: ['Egress'] }),
  networkPolicy('in', 'both', { ingress: [{ ports: [{ port: 80 }] }] }),
  networkPolicy('all', 'open', { ingress: [{}] }), // denies nothing
  networkPolicy('many', 'many', { ingress: MANY }),
];
const ISOLATED = new Map([
  ['shop/shut', new Set(['ingress'])],
  ['shop/both', new Set(['ingress', 'egress'])],
  ['shop/many', new Set(['ingress'])],
]);

test.each([
  ['alone', POLICIES],
  ['beside a cluster policy, which isolates nobody', [...POLICIES, CLUSTER_POLICY]],
])('isolatedPodsIn() reads from the rules which pods NetworkPolicies isolate, %s', (_, objects) => {
  for (const unknownPods of ['allow', 'deny'] as const)
    expect(isolatedPodsIn(compile(cluster(...objects), 'n1', unknownPods))).toEqual(ISOLATED);
});

test('isolatedPodsIn() reads nothing where there is nothing', () => {
  expect(isolatedPodsIn({ tables: new Map() })).toEqual(new Map());
  expect(isolatedPodsIn(compile(cluster(CLUSTER_POLICY), 'n1', 'deny'))).toEqual(new Map());
});
