import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { parseFlow } from '../../semantics/flowtext.ts';
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

const NETWORK = (who: string) =>
  `the address of ${who} were of 0.0.0.0/0, and not of 10.0.0.0/8, 169.254.169.254/32`;

test.each([
  ['shop/web -> 192.0.2.7:80', [['it went to TCP 443']]],
  ['shop/web -> 192.0.2.7:443/UDP', [['it went to TCP 443']]],
  ['shop/web -> [2001:db8::7]:80', [['it went to TCP 443']]],
  ['shop/web -> 10.1.2.3:443', [[NETWORK('10.1.2.3')]]],
  ['shop/web -> 10.1.2.3:80', [[NETWORK('10.1.2.3'), 'it went to TCP 443']]],
  ['shop/web -> shop/db:443', [[NETWORK('shop/db')]]],
  ['shop/web -> [2001:db9::7]:443', [['the address of 2001:db9::7 were of 2001:db8::/32']]],
  ['shop/db -> 172.16.0.1:22', [['it went to TCP 6443']]],
  ['shop/db -> 192.0.2.7:22', []],
])('%s needs what it lacks, and nothing that it has', (flow, expected) => {
  expect(needs(flow)).toEqual(expected);
});
