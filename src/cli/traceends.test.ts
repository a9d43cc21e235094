import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { tracedEnd } from './traceends.ts';

const pod = (name: string, address: string, node: string) => `
- apiVersion: v1
  kind: Pod
  metadata: { name: ${name}, namespace: shop, labels: { app: web, pod-template-hash: abc }, ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, controller: true }] }
  spec: { nodeName: ${node}, containers: [{ name: c, ports: [{ name: http, containerPort: 9090 }] }] }
  status: { podIPs: ${address === '' ? '[]' : `[{ ip: ${address} }, { ip: "fd00::${name.at(-1)}" }]`} }`;

const view = clusterView(`
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 192.168.0.1 }, { type: InternalIP, address: "fd01::1" }] } }
- { apiVersion: v1, kind: Node, metadata: { name: n2 }, status: { addresses: [{ type: InternalIP, address: 192.168.0.2 }] } }
- { apiVersion: apps/v1, kind: Deployment, metadata: { name: none, namespace: shop }, spec: { selector: { matchLabels: { app: none } }, template: { metadata: { labels: { app: none } } } } }
- { apiVersion: v1, kind: Service, metadata: { name: api, namespace: shop }, spec: { clusterIP: 10.96.0.7, selector: { app: web }, ports: [{ port: 80, targetPort: http }] } }
- { apiVersion: v1, kind: Service, metadata: { name: lost, namespace: shop }, spec: { clusterIP: 10.96.0.8, selector: { app: none-such }, ports: [{ port: 80 }] } }
${pod('web-0', '', '')}${pod('web-1', '10.1.0.1', 'n1')}${pod('web-2', '10.2.0.2', 'n2')}
`);

test.each([
  ['web-1', { text: 'shop/web-1', node: 'n1' }],
  ['shop/web-2@6:http/TCP', { text: 'shop/web-2@6:http/TCP', node: 'n2' }],
  ['10.2.0.2:80', { text: '10.2.0.2:80', node: 'n2' }],
  ['192.0.2.1', { text: '192.0.2.1' }],
  ['example.com:443', { text: 'example.com:443' }],
  ['node/n1:22', { text: '192.168.0.1:22', node: 'n1' }],
  ['node/n1@6:22', { text: '[fd01::1]:22', node: 'n1' }],
  [
    'deploy/web@4:80/UDP',
    {
      text: 'shop/web-1@4:80/UDP',
      node: 'n1',
      note: 'deploy/web@4:80/UDP is traced as shop/web-1, one of 2 pods',
    },
  ],
  [
    'shop/app=web:80',
    { text: 'shop/web-1:80', node: 'n1', note: 'shop/app=web:80 is traced as shop/web-1, one of 2 pods' },
  ],
  [
    'svc/api:80',
    {
      text: 'shop/web-1:9090/TCP',
      node: 'n1',
      note: 'svc/api:80 leads to 3 endpoints: shop/web-1:9090/TCP is traced',
    },
  ],
  [
    'api.shop:80',
    {
      text: 'shop/web-1:9090/TCP',
      node: 'n1',
      note: 'api.shop:80 leads to 3 endpoints: shop/web-1:9090/TCP is traced',
    },
  ],
])('tracedEnd() of %s is a pod that runs, or an address', (text, expected) => {
  expect(tracedEnd(view, text)).toEqual(expected);
});

test.each([
  ['internet:80', 'the rules are walked for one address: name one'],
  ['shop/app=wbe:80', '"shop/app=wbe:80" has no pod that runs'],
  ['deploy/none:80', '"deploy/none:80" has no pod that runs'],
  ['svc/lost:80', 'Service shop/lost has no endpoint that is ready on port 80'],
  ['svc/api:81', 'Service shop/api has no port 81/TCP'],
  ['svc/nobody:80', 'there is no Service shop/nobody'],
  ['shop/nobody', 'there is no pod shop/nobody'],
  ['shop/\x1b[2J', 'there is no pod'],
])('tracedEnd() of %j says why there is nothing to trace', (text, message) => {
  expect(() => tracedEnd(view, text)).toThrow(message);
});

test('tracedEnd() where an agent knows no Services asks for a pod behind one', () => {
  const agents = clusterView(`{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }`, {
    knowsInventory: false,
  });
  expect(() => tracedEnd(agents, 'svc/api:80')).toThrow(
    'the agent knows no Services: name a pod behind shop/api',
  );
});
