import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { problemText } from '../../model/problem.ts';
import { lint as lintCluster } from './lint.ts';

const pod = (name: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { nodeName: n1 }, status: { podIP: 10.1.0.${name.length} } }`;
const deployment =
  '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: future, namespace: shop }, spec: { template: { metadata: { labels: { app: future } } } } }';
const service = (name: string, clusterIP: string) =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { clusterIP: ${clusterIP}, selector: { app: web }, ports: [{ port: 80 }] } }`;
const policy = (names: readonly string[], more = '', app = 'web') => `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: names }
spec:
  tier: Admin
  priority: 10
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: ${app} } } } }
  egress:
  - { action: Accept, to: [{ domainNames: [${names.map(name => `'${name}'`).join()}] }] }
${more}`;

const DENY = "  - { action: Deny, to: [{ networks: [0.0.0.0/0, '::/0'] }] }\n";
const dnsTo = (peer: string) =>
  `  - { action: Accept, to: [{ ${peer} }], protocols: [{ udp: { destinationPort: { number: 53 } } }] }\n`;
const KUBE_DNS =
  'pods: { namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: kube-system } }, podSelector: { matchLabels: { k8s-app: kube-dns } } }';

const OF_NAMES: readonly string[] = ['service-name', 'no-dns', 'public-wildcard', 'shared-address'];

function lint(...objects: string[]) {
  const { cluster, inventory } = clusterView(objects.join('\n---\n'));
  const problems = lintCluster(cluster, inventory, []);
  return problems
    .filter(({ code = 'object' }) => OF_NAMES.includes(code))
    .map(problem => [problem.code, problemText(problem)]);
}

test.each([
  ['nothing is denied', policy(['a.example']), []],
  ['all else is denied', policy(['a.example'], DENY), ['no-dns']],
  ['DNS is allowed, by its pods', policy(['a.example'], dnsTo(KUBE_DNS) + DENY), []],
  ['DNS is allowed too late', policy(['a.example'], DENY + dnsTo(KUBE_DNS)), ['no-dns']],
  ['a cache of the node is allowed', policy(['a.example'], dnsTo('networks: [169.254.20.10/32]') + DENY), []],
  [
    'another port of DNS is allowed',
    policy(['a.example'], dnsTo(KUBE_DNS).replace('53', '54') + DENY),
    ['no-dns'],
  ],
  ['a workload that has no pods', policy(['a.example'], DENY, 'future'), ['no-dns']],
  ['nobody is selected', policy(['a.example'], DENY, 'nobody'), []],
])('a pod that may not ask DNS: %s', (_, text, codes) => {
  expect(lint(pod('web'), deployment, text).map(([code]) => code)).toEqual(codes);
});

test('a NetworkPolicy may be what keeps a pod from asking', () => {
  const isolates =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p, namespace: shop }, spec: { podSelector: {}, policyTypes: [Egress] } }';
  expect(lint(pod('web'), isolates, policy(['a.example']))).toEqual([
    [
      'no-dns',
      "ClusterNetworkPolicy names: spec.egress[0].to lets shop/web reach a.example, and no rule lets it ask the cluster's DNS (UDP 53); it receives no DNS answer, so no name matches",
    ],
  ]);
});

test.each([
  ['web.shop.svc.cluster.local', ['service-name']],
  ['*.shop.svc.cluster.local', ['service-name']],
  ['*.svc.cluster.local', ['service-name']],
  ['other.shop.svc', ['service-name']],
  ['peers.shop.svc.cluster.local', []],
  ['web-0.peers.shop.svc.cluster.local', []],
  ['svc.example.org', []],
  ['my.svc.example', []],
])('a name of a Service: %s', (name, codes) => {
  const services = [service('web', '10.96.0.1'), service('peers', 'None')];
  expect(lint(pod('web'), ...services, policy([name])).map(([code]) => code)).toEqual(codes);
});

test.each([
  ['*.github.io', ['public-wildcard']],
  ['me.github.io', ['shared-address']],
  ['*.nip.io', ['public-wildcard']],
  ['10.0.0.1.nip.io', []],
  ['*.cluster.local', ['public-wildcard']],
  ['*.pod.cluster.local', ['public-wildcard']],
  ['*.shop.pod.cluster.local', ['public-wildcard']],
  ['10-0-0-1.shop.pod.cluster.local', []],
  ['*.other.local', []],
  ['*.co.uk', ['public-wildcard']],
  ['*.example.co.uk', []],
  ['d111.cloudfront.net', ['shared-address']],
  ['*.mybucket.s3.amazonaws.com', []],
  ['*.notgithub.io', []],
])('a name that others have, or its address: %s', (name, codes) => {
  expect(lint(pod('web'), policy([name])).map(([code]) => code)).toEqual(codes);
});
