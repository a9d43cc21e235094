import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { problemText } from '../../model/problem.ts';
import { lint } from './lint.ts';

const PORTS = 'ports: [{ name: http, containerPort: 80 }, { name: dns, containerPort: 53, protocol: UDP }]';
const CLUSTER = `
{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop, labels: { app: web } }, spec: { containers: [{ name: c, ${PORTS} }] }, status: { podIP: 10.0.0.1 } }
---
{ apiVersion: apps/v1, kind: Deployment, metadata: { name: api, namespace: shop }, spec: { template: { metadata: { labels: { app: api } }, spec: { containers: [{ name: c, ports: [{ name: grpc, containerPort: 81 }] }] } } } }
---
`;
const policy = (app: string, rules: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${app} } }, ${rules} } }`;
const to = (app: string, port: string) =>
  policy('web', `egress: [{ to: [{ podSelector: { matchLabels: { app: ${app} } } }], ports: [${port}] }]`);

function warnings(document: string): string[] {
  const { cluster, inventory } = clusterView(CLUSTER + document);
  const problems = lint(cluster, inventory, []);
  return problems.filter(({ code }) => code === 'port-name').map(problemText);
}

const NOBODY = 'and none of the pods and workloads that the';
const NOTHING = 'it; the port matches nothing until one does';

test.each([
  [
    policy('web', 'ingress: [{ ports: [{ port: htp }] }]'),
    `ingress[0] names port TCP "htp", ${NOBODY} policy selects has ${NOTHING}`,
  ],
  [
    policy('web', 'ingress: [{}, { ports: [{ port: dns }] }]'),
    `ingress[1] names port TCP "dns", ${NOBODY} policy selects has ${NOTHING}`,
  ],
  [
    policy('api', 'ingress: [{ ports: [{ port: http }] }]'),
    `ingress[0] names port TCP "http", ${NOBODY} policy selects has ${NOTHING}`,
  ],
  [to('api', '{ port: http }'), `egress[0] names port TCP "http", ${NOBODY} rule means has ${NOTHING}`],
])('a name that no destination has is warned of: %s', (document, said) => {
  expect(warnings(document)).toEqual([`NetworkPolicy shop/p: spec.${said}`]);
});

test.each([
  ['that a pod has', policy('web', 'ingress: [{ ports: [{ port: http }, { port: 8080 }] }]')],
  ['of the right protocol', policy('web', 'ingress: [{ ports: [{ port: dns, protocol: UDP }] }]')],
  ['that a workload has', to('api', '{ port: grpc }')],
  ['of destinations that are not there yet', to('new', '{ port: anything }')],
  [
    'of a policy for pods that are not there yet',
    policy('new', 'ingress: [{ ports: [{ port: anything }] }]'),
  ],
  ['of any destination', policy('web', 'egress: [{ ports: [{ port: anything }] }]')],
  [
    'of networks, which may hold pods that nobody wrote down',
    policy('web', 'egress: [{ to: [{ ipBlock: { cidr: 10.0.0.0/8 } }], ports: [{ port: anything }] }]'),
  ],
])('no warning of a name %s', (_, document) => expect(warnings(document)).toEqual([]));

test('a policy is warned of a few names, however many it has', () => {
  const ports = Array.from({ length: 100 }, (_, i) => `{ port: p${i} }`);
  expect(warnings(policy('web', `ingress: [{ ports: [${ports}] }]`))).toHaveLength(5);
});
