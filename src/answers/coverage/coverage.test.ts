import { expect, test } from 'vitest';
import { ManifestCollector } from '../../inputs/files/load.ts';
import type { Direction } from '../../model/policy.ts';
import { counted, coverageOf, percentOf } from './coverage.ts';

const namespaces = ['shop', 'guest'].map(
  name => `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name} } }`,
);
const deployment = (namespace: string, app: string, more = '') =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${app}, namespace: ${namespace} }, spec: { template: { metadata: { labels: { app: ${app} } }, spec: { containers: []${more} } } } }`;
const policy = (namespace: string, name: string, spec: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: ${namespace} }, spec: { ${spec} } }`;
const cluster = (tier: string, priority: number, rules: string) =>
  `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: ${tier.toLowerCase()}-${priority} }, spec: { tier: ${tier}, priority: ${priority}, subject: { namespaces: {} }, ${rules} } }`;
const SHOP = [
  ...namespaces,
  deployment('shop', 'web'),
  deployment('shop', 'db'),
  deployment('guest', 'visitor'),
];
const all = (action: string) => `ingress: [{ action: ${action}, from: [{ namespaces: {} }] }]`;

function coverage(...texts: string[]) {
  const collector = new ManifestCollector();
  collector.put('a', collector.read([...SHOP, ...texts].join('\n---\n'), 'a'));
  const { cluster: read, inventory, problems } = collector.loaded();
  expect(problems).toEqual([]);
  return coverageOf(read, inventory, () => true);
}

function isolated(direction: Direction, ...texts: string[]): string[] {
  const { workloads } = coverage(...texts);
  return workloads.filter(each => each[direction].isolated).map(({ workload }) => workload.split('/')[1]!);
}

test.each<[string, string[], string[], string[]]>([
  ['no policy', [], [], []],
  [
    'a policy of ingress, of one',
    [policy('shop', 'p', 'podSelector: { matchLabels: { app: web } }')],
    ['web'],
    [],
  ],
  [
    'a policy of both, of a namespace',
    [policy('shop', 'p', 'podSelector: {}, policyTypes: [Ingress, Egress]')],
    ['db', 'web'],
    ['db', 'web'],
  ],
  [
    'one that allows all pods',
    [policy('shop', 'p', 'podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }]')],
    ['db', 'web'],
    [],
  ],
  [
    'one that allows everybody one port',
    [policy('shop', 'p', 'podSelector: {}, ingress: [{ ports: [{ port: 80 }] }]')],
    ['db', 'web'],
    [],
  ],
  ['one that allows everything', [policy('shop', 'p', 'podSelector: {}, ingress: [{}]')], [], []],
  [
    'one that allows everything, beside one that does not',
    [
      policy('shop', 'p', 'podSelector: {}'),
      policy('shop', 'q', 'podSelector: { matchLabels: { app: db } }, ingress: [{}]'),
    ],
    ['web'],
    [],
  ],
  ['a baseline that denies all pods', [cluster('Baseline', 1, all('Deny'))], ['visitor', 'db', 'web'], []],
  [
    'the same, below a policy that allows everything',
    [cluster('Baseline', 1, all('Deny')), policy('shop', 'p', 'podSelector: {}, ingress: [{}]')],
    ['visitor'],
    [],
  ],
  [
    'an admin policy that allows all pods, above a policy',
    [cluster('Admin', 1, all('Accept')), policy('shop', 'p', 'podSelector: {}')],
    [],
    [],
  ],
  [
    'one that passes them',
    [
      cluster('Admin', 1, all('Pass')),
      cluster('Admin', 2, all('Accept')),
      policy('shop', 'p', 'podSelector: {}'),
    ],
    ['db', 'web'],
    [],
  ],
  [
    'one that denies one namespace',
    [cluster('Admin', 1, 'ingress: [{ action: Deny, from: [{ namespaces: { matchLabels: { a: b } } }] }]')],
    [],
    [],
  ],
])('coverage of %s', (_, texts, ingress, egress) => {
  expect([isolated('ingress', ...texts), isolated('egress', ...texts)]).toEqual([ingress, egress]);
});

test('a policy that opens a workload is named, and so is the one that isolates it', () => {
  const { workloads } = coverage(
    policy('shop', 'a', 'podSelector: {}'),
    policy('shop', 'b', 'podSelector: { matchLabels: { app: db } }, ingress: [{}]'),
  );
  expect(workloads.map(({ ingress }) => ingress)).toEqual([
    { isolated: false },
    { isolated: false, by: 'NetworkPolicy shop/b' },
    { isolated: true, by: 'NetworkPolicy shop/a' },
  ]);
});

test('a workload is isolated where each of its pods is, and pods on the network of their node do not count', () => {
  const pod = (name: string, labels: string, more = '') =>
    `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { ${labels} }, ownerReferences: [{ kind: StatefulSet, name: cache, controller: true }] }, spec: { containers: []${more} } }`;
  const texts = [
    pod('cache-0', 'app: cache'),
    pod('cache-1', 'app: cache, canary: "yes"'),
    pod('cache-2', 'app: none', ', hostNetwork: true'),
    deployment('shop', 'exporter', ', hostNetwork: true'),
  ];
  const some = policy('shop', 'p', 'podSelector: { matchLabels: { app: cache, canary: "yes" } }');
  const every = policy('shop', 'p', 'podSelector: { matchLabels: { app: cache } }');
  expect(isolated('ingress', ...texts, some)).toEqual([]);
  expect(isolated('ingress', ...texts, every)).toEqual(['cache']);
  expect(coverage(...texts).workloads).toHaveLength(4);
});

test('policies that select nobody, and rules whose peers are nobody, are unused', () => {
  const { unusedPolicies, unusedRules } = coverage(
    policy('shop', 'typo', 'podSelector: { matchLabels: { app: wbe } }'),
    policy(
      'shop',
      'web',
      'podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: front } } }] }, { from: [{ podSelector: { matchLabels: { app: front } } }, { ipBlock: { cidr: 10.0.0.0/8 } }] }, {}]',
    ),
    policy('elsewhere', 'other', 'podSelector: { matchLabels: { app: web } }'),
  );
  expect(unusedPolicies).toEqual(['NetworkPolicy shop/typo']);
  expect(unusedRules).toEqual([
    {
      policy: 'NetworkPolicy shop/web',
      rule: 'ingress[0]',
      reason: 'there are no pods app=front in namespace shop',
    },
  ]);
});

test('a rule for namespaces that are not there is unused, and what may be meant is said', () => {
  const from = (...labels: string[]) =>
    `{ from: [${labels.map(label => `{ namespaceSelector: { matchLabels: { ${label} } } }`)}] }`;
  const name = 'kubernetes.io/metadata.name';
  const { unusedRules } = coverage(
    policy(
      'shop',
      'web',
      `podSelector: {}, ingress: [${[
        from(`${name}: gest`),
        from('team: a', `${name}: monitoring`),
        from('team: a', `${name}: guest`),
        from(`${name}: kube-system`),
      ]}]`,
    ),
  );
  expect(unusedRules.map(({ rule, reason }) => [rule, reason])).toEqual([
    ['ingress[0]', `there are no namespaces ${name}=gest (did you mean ${name}=guest?)`],
    ['ingress[1]', `there are no namespaces team=a, namespaces ${name}=monitoring`],
  ]);
});

test('the percentage is rounded down', () => {
  const { workloads } = coverage(policy('shop', 'p', 'podSelector: {}'));
  expect(percentOf(counted(workloads, 'ingress'))).toBe(66);
});
