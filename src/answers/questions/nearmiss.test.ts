import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { parseFlow } from '../../semantics/flowtext.ts';
import { answer } from './answer.ts';
import { nearMissesOf } from './explanation.ts';
import { nearMisses } from './nearmiss.ts';

const { cluster, unknownPods } = clusterView(`
{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop, labels: { app: web } }, status: { podIPs: [{ ip: 10.0.0.1 }, { ip: 'fd00::1' }] } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: db, namespace: shop, labels: { app: db } }, status: { podIP: 10.0.0.2 } }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: web, namespace: shop }
spec:
  podSelector: { matchLabels: { app: web } }
  policyTypes: [Egress]
  egress:
    - to: [{ ipBlock: { cidr: 0.0.0.0/0, except: [10.0.0.0/8, 169.254.169.254/32] } }, { ipBlock: { cidr: '2001:db8::/32' } }]
      ports: [{ port: 443 }]
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: nodes }
spec:
  tier: Admin
  priority: 1
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: db } } } }
  egress:
    - action: Accept
      to: [{ nodes: {} }]
      protocols: [{ tcp: { destinationPort: { number: 6443 } } }]
---
{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.16.0.1 }] } }
`);

const needs = (flow: string) =>
  nearMisses(cluster, parseFlow(cluster, flow), 'egress', unknownPods).map(each => each.needs);

const NETWORK = (whose: string) => `${whose} were in 0.0.0.0/0, and not in 10.0.0.0/8, 169.254.169.254/32`;

test.each([
  ['shop/web -> 192.0.2.7:80', [['it went to TCP 443']]],
  ['shop/web -> 192.0.2.7:443/UDP', [['it went to TCP 443']]],
  ['shop/web -> [2001:db8::7]:80', [['it went to TCP 443']]],
  ['shop/web -> 10.1.2.3:443', [[NETWORK('10.1.2.3')]]],
  ['shop/web -> 10.1.2.3:80', [[NETWORK('10.1.2.3'), 'it went to TCP 443']]],
  ['shop/web -> shop/db:443', [[NETWORK('the address of shop/db')]]],
  ['shop/web -> [2001:db9::7]:443', [['2001:db9::7 were in 2001:db8::/32']]],
  ['shop/db -> 172.16.0.1:22', [['it went to TCP 6443']]],
  ['shop/db -> 192.0.2.7:22', []],
])('%s needs what it lacks, and nothing that it has', (flow, expected) => {
  expect(needs(flow)).toEqual(expected);
});

const SHOP = clusterView(`
{ apiVersion: v1, kind: Namespace, metadata: { name: shop, labels: { team: sales } } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop, labels: { app: web } }, status: { podIP: 10.0.0.1 } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: api, namespace: shop, labels: { app: api } }, status: { podIP: 10.0.0.2 } }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: api, namespace: shop }
spec:
  podSelector: { matchLabels: { app: api } }
  ingress:
    - from: [{ podSelector: { matchLabels: { app: wbe } } }]
      ports: [{ port: 80 }]
    - from: [{ namespaceSelector: { matchLabels: { team: salse } } }]
      ports: [{ port: 81 }]
    - from: [{ podSelector: { matchLabels: { app: batch } } }]
      ports: [{ port: 82 }]
    - from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: shpo } } }]
      ports: [{ port: 83 }]
`);

test.each([
  [80, 'shop/web had app=wbe (no pod has it; did you mean app=web?)'],
  [81, 'namespace shop had team=salse (no namespace has it; did you mean team=sales?)'],
  [82, 'shop/web had app=batch (no pod has it)'],
  [83, 'shop/web were in namespace shpo (which is not there; did you mean shop?)'],
])('a label that nobody has is said as such, on port %i', (port, need) => {
  const flow = parseFlow(SHOP.cluster, `shop/web -> shop/api:${port}`);
  expect(nearMisses(SHOP.cluster, flow, 'ingress', 'allow')[0]!.needs).toEqual([need]);
});

test('where a rule names the port of the Service, the port of the pods is said', () => {
  const flow = parseFlow(SHOP.cluster, 'shop/web -> shop/api:8080');
  const of = (...servicePorts: number[]) =>
    nearMisses(SHOP.cluster, flow, 'ingress', 'allow', { servicePorts }).flatMap(({ needs }) => needs);
  expect(of(79, 80)).toContain(SERVICE_PORT);
  expect(of()).not.toContainEqual(expect.stringContaining("the Service's"));
});

const SERVICE_PORT = "the rule named port 8080, which policy sees, and not 80, which is the Service's";

test.each([
  ['shop/svc/api:80', 'targetPort: 8080', [SERVICE_PORT]],
  ['shop/svc/api:http', 'targetPort: 8080', [SERVICE_PORT]],
  ['shop/deploy/api:8080', 'targetPort: 8080', [SERVICE_PORT]],
  ['shop/deploy/api:main', 'targetPort: main', [SERVICE_PORT]],
  ['shop/deploy/api:8080', 'targetPort: other', ['it went to TCP 80']],
  ['shop/deploy/api:8080', 'targetPort: 8081', ['it went to TCP 80']],
  ['shop/deploy/api:8080', 'protocol: UDP, targetPort: 8080', ['it went to TCP 80']],
  ['shop/deploy/other:8080', 'targetPort: 8080', ['it went to TCP 80']],
])('the port of a Service is said of each way to ask for the pod behind it: %s %s', (to, more, expected) => {
  const deployment = (name: string) =>
    `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: c, ports: [{ name: main, containerPort: 8080 }] }] } } } }`;
  const view = clusterView(
    [
      deployment('web'),
      deployment('api'),
      deployment('other'),
      `{ apiVersion: v1, kind: Service, metadata: { name: api, namespace: shop }, spec: { selector: { app: api }, ports: [{ port: 80, name: http, ${more} }] } }`,
      '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p, namespace: shop }, spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] } }',
    ].join('\n---\n'),
  );
  const asked = answer(view, { from: 'shop/deploy/web', to });
  expect(nearMissesOf(asked, 'ingress', 'allow').flatMap(({ needs }) => needs)).toEqual(expected);
});

test('the labels of workloads are known, also before they have pods', () => {
  const flow = parseFlow(SHOP.cluster, 'shop/web -> shop/api:82');
  const workloads = [{ labels: { app: 'batch' } }];
  const [miss] = nearMisses(SHOP.cluster, flow, 'ingress', 'allow', { workloads });
  expect(miss!.needs).toEqual(['shop/web had app=batch']);
});
