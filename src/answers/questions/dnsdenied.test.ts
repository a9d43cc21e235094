import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const pod = (namespace: string, name: string, labels: string, addresses: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { ${labels} } }, spec: { nodeName: n1, containers: [{ name: c, ports: [{ name: dns, containerPort: 53, protocol: UDP }] }] }, status: { podIPs: [${addresses}] } }`;
const BOTH = [
  pod('shop', 'web', 'app: web', "{ ip: 10.0.0.1 }, { ip: 'fd00::1' }"),
  pod('shop', 'api', 'app: api', '{ ip: 10.0.0.2 }'),
  '{ apiVersion: v1, kind: Service, metadata: { name: api, namespace: shop }, spec: { selector: { app: api }, ports: [{ port: 80 }] } }',
];
const DNS = pod('kube-system', 'coredns', 'k8s-app: kube-dns', '{ ip: 10.0.9.1 }');
const egress = (rules: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: shop }, spec: { podSelector: { matchLabels: { app: web } }, policyTypes: [Egress], egress: [${rules}] } }`;
const TO_API = '{ to: [{ podSelector: { matchLabels: { app: api } } }] }';
const TO_DNS = '{ to: [{ namespaceSelector: {} }], ports: [{ port: 53, protocol: UDP }] }';
const COREDNS =
  '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: coredns, namespace: kube-system }, spec: { selector: {}, template: { metadata: { labels: { k8s-app: kube-dns } }, spec: { containers: [{ name: c }] } } } }';
const KUBE_DNS =
  '{ apiVersion: v1, kind: Service, metadata: { name: kube-dns, namespace: kube-system }, spec: { selector: { k8s-app: kube-dns }, ports: [{ port: 53, protocol: UDP }] } }';
const OF_SERVICE =
  'shop/web cannot look the name up, because DNS is denied: NetworkPolicy shop/web selects shop/web, and no rule of it allows egress to kube-system/deploy/coredns on UDP 53';
const NOTE =
  'shop/web cannot look the name up, because DNS is denied: NetworkPolicy shop/web selects shop/web, and no rule of it allows egress to kube-system/coredns on UDP 53';

test.each<[string, string, readonly string[], readonly string[]]>([
  ['a Service', 'shop/svc/api:80', [DNS, egress(TO_API)], [NOTE]],
  ['a name outside', 'example.com:443', [DNS, egress(TO_API)], [NOTE]],
  ['a Service, and DNS is allowed', 'shop/svc/api:80', [DNS, egress(`${TO_API}, ${TO_DNS}`)], []],
  ['a Service, and nobody isolates', 'shop/svc/api:80', [DNS], []],
  ['a pod behind a Service', 'shop/api:80', [DNS, egress(TO_API)], [NOTE.replace('the name', 'api.shop')]],
  ['a pod behind none', 'kube-system/coredns:9153', [DNS, egress(TO_DNS.replace('53', '9153'))], []],
  ['a pod at the port of DNS', 'shop/api:53', [DNS, egress(TO_API)], []],
  ['an address', '10.0.0.2:80', [DNS, egress(TO_API)], []],
  [
    'a Service, where DNS is a workload and its Service',
    'shop/svc/api:80',
    [COREDNS, KUBE_DNS, egress(TO_API)],
    [OF_SERVICE],
  ],
  ['the DNS itself', 'kube-system/svc/kube-dns:53/UDP', [COREDNS, KUBE_DNS, egress(TO_API)], []],
  ['a Service of a cluster whose DNS is not known', 'shop/svc/api:80', [egress(TO_API)], []],
])('to %s', (_, to, objects, notes) => {
  const view = clusterView([...BOTH, ...objects].join('\n---\n'));
  const found = answer(view, { from: 'shop/web', to }).notes.filter(note => note.includes('DNS is denied'));
  expect(found).toEqual(notes);
});
