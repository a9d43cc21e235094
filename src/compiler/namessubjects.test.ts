import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import type { Address } from '../model/address.ts';
import type { ClusterEvent } from '../model/cluster.ts';
import type { Policy } from '../model/policy.ts';
import { Incremental } from './live/incremental.ts';
import { namesSubjects } from './namessubjects.ts';

const pod = (name: string, app: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, uid: of-${name}, labels: { app: ${app} } }, spec: { nodeName: n1 }, status: { podIP: 10.1.0.${name.length} } }`;
const byName = (policy: string, app: string, name: string) => `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: ${policy} }
spec:
  tier: Admin
  priority: ${10 + policy.length}
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: ${app} } } } }
  egress: [{ action: Accept, to: [{ domainNames: ['${name}'] }] }]`;
const isolating = (name: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: of-${name}, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${name} } }, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 192.0.2.0/24 } }] }] } }`;

function subjectsOf(...objects: string[]) {
  const { namespaces, policies, pods } = clusterView(objects.join('\n---\n')).cluster;
  const live = new Incremental('n1', 'allow', 'others', {
    queue: 'nft',
    resolvers: ['10.96.0.10' as Address],
  });
  const note = (type: string, all: ReadonlyMap<string, unknown>) => {
    for (const [key, value] of all) live.apply({ type, key, value } as ClusterEvent);
  };
  note('namespace', namespaces);
  note('policy', policies);
  note('pod', pods);
  live.flush();
  return live.namesSubjects;
}

test('pods have the sets of their own policies, and share what their policies by name say', () => {
  const { pods, sets } = subjectsOf(
    ...[pod('a', 'web'), pod('bb', 'web'), pod('ccc', 'db'), pod('dddd', 'none')],
    ...[byName('x', 'web', 'a.example'), byName('yy', 'db', 'b.example'), isolating('web'), isolating('db')],
  );
  const namesOf = (key: string) =>
    pods.find(each => each.key === key)?.sets.flatMap(own => sets.find(({ name }) => name === own)!.patterns);
  expect(namesOf('shop/a')).toEqual(['a.example']);
  expect(namesOf('shop/ccc')).toEqual(['b.example']);
  expect(namesOf('shop/dddd')).toBeUndefined();
  expect(pods.map(({ key, uid }) => `${key} ${uid}`)).toEqual([
    'shop/a of-a',
    'shop/bb of-bb',
    'shop/ccc of-ccc',
  ]);
});

test('pods of several classes have one list of sets where their policies by name are the same', () => {
  const { pods } = subjectsOf(
    ...[pod('a', 'web'), pod('bb', 'web').replace('app: web', 'app: web, tier: x')],
    byName('x', 'web', 'a.example'),
    isolating('web').replace('app: web', 'tier: x'),
  );
  expect(pods).toHaveLength(2);
  expect(pods[1]!.sets).toBe(pods[0]!.sets);
});

test('a pod that a policy selects and one that it may select have sets of their own, whichever comes first', () => {
  const groups = ['a.example', 'b.example'].map(name => ({
    name: `names-${name}`,
    group: { kind: 'names', patterns: [name] } as const,
  }));
  const policy = (uncertain: boolean, ...names: string[]) =>
    ({
      id: 'ClusterNetworkPolicy x',
      uncertain,
      egress: [{ peers: names.map(name => ({ kind: 'domain', name })) }],
    }) as unknown as Policy;
  const placement = (key: string, policies: readonly Policy[]) => ({
    indexedPod: { pod: { key }, addresses: [] } as never,
    podClass: { direction: 'egress', policies } as never,
  });
  const placements = [
    placement('shop/sure', [policy(false, 'a.example', 'b.example')]),
    placement('shop/uncertain', [policy(true, 'b.example')]),
  ];
  for (const some of [placements, placements.toReversed()])
    expect(namesSubjects(some, groups).pods.map(({ sets }) => sets)).toEqual([
      ['names-a.example', 'names-b.example'],
      ['names-b.example'],
    ]);
});
