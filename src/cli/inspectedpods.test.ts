import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { inspectedBy } from './inspectedpods.ts';

const pod = (name: string, app: string, node: string, ip: string, owner = '') => `
- apiVersion: v1
  kind: Pod
  metadata: { name: ${name}, namespace: shop, labels: { app: ${app} }${owner} }
  spec: { nodeName: "${node}", containers: [{ name: c, ports: [{ name: ${name === 'web-1' ? 'old' : 'http'}, containerPort: 9090 }] }] }
  status: { podIPs: [{ ip: ${ip} }] }`;
const OWNED = ', ownerReferences: [{ apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true }]';

const view = clusterView(
  `
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 192.168.0.1 }] } }
- { apiVersion: apps/v1, kind: Deployment, metadata: { name: none, namespace: shop }, spec: { selector: { matchLabels: { app: none } }, template: { metadata: { labels: { app: none } } } } }
- { apiVersion: v1, kind: Service, metadata: { name: api, namespace: shop }, spec: { clusterIP: 10.96.0.7, selector: { app: web }, ports: [{ name: a, port: 80, targetPort: http }, { name: b, port: 443, targetPort: 8443 }] } }
- { apiVersion: v1, kind: Service, metadata: { name: lost, namespace: shop }, spec: { clusterIP: 10.96.0.8, selector: { app: nobody }, ports: [{ port: 80 }] } }
${pod('web-1', 'web', 'n1', '10.1.0.1')}${pod('web-2', 'web', 'n2', '10.2.0.2')}${pod('db-0', 'db', 'n2', '10.2.0.3', OWNED)}${pod('late', 'late', '', '10.2.0.9')}
`,
  { defaultNamespace: 'shop' },
);

const WEB = { names: ['shop/web-1', 'shop/web-2'], nodes: ['n1', 'n2'] };

test.each([
  ['shop', { names: ['shop'] }],
  ['NetworkPolicy shop/web', { names: ['NetworkPolicy shop/web'] }],
  ['cnp:platform', { names: ['cnp:platform'] }],
  ['shop/default-deny', { names: ['shop/default-deny'] }],
  ['shop/late', { names: ['shop/late'] }],
  ['shop/web-1', { names: ['shop/web-1'], nodes: ['n1'] }],
  ['svc/api', { ...WEB, note: 'svc/api means 2 pods: shop/web-1, shop/web-2' }],
  ['svc/api:443', { ...WEB, note: 'svc/api:443 means 2 pods: shop/web-1, shop/web-2' }],
  ['api.shop.svc', { ...WEB, note: 'api.shop.svc means 2 pods: shop/web-1, shop/web-2' }],
  ['app=web', { ...WEB, note: 'app=web means 2 pods: shop/web-1, shop/web-2' }],
  ['sts/db', { names: ['shop/db-0'], nodes: ['n2'], note: 'sts/db means 1 pod: shop/db-0' }],
  ['shop/db', { names: ['shop/db-0'], nodes: ['n2'], note: 'shop/db means 1 pod: shop/db-0' }],
  ['10.2.0.2', { names: ['shop/web-2'], nodes: ['n2'], note: '10.2.0.2 means 1 pod: shop/web-2' }],
])('inspectedBy() of %s', (text, expected) => {
  expect(inspectedBy(view, text)).toEqual(expected);
});

test.each([
  ['deploy/none', '"deploy/none" has no pod that runs'],
  ['deploy/nobody', 'there is no Deployment shop/nobody'],
  ['svc/lost', '"svc/lost" has no pod that runs'],
  ['svc/nobody', 'there is no Service shop/nobody'],
  ['app=nobody', '"app=nobody" has no pod that runs'],
  ['10.9.9.9', '"10.9.9.9": no known pod has that address'],
  ['node/n1', '"node/n1" is no pod'],
])('inspectedBy() of %s says why there is nothing to inspect', (text, message) => {
  expect(() => inspectedBy(view, text)).toThrow(message);
});

test('inspectedBy() of very many pods names the first, and says so', () => {
  const many = Array.from({ length: 45 }, (_, n) => pod(`web-${n}`, 'web', `n${n}`, `10.1.0.${n + 1}`));
  const crowd = clusterView(`apiVersion: v1\nkind: List\nitems:${many.join('')}`, {
    defaultNamespace: 'shop',
  });
  const { names, note } = inspectedBy(crowd, 'app=web');
  expect([names.length, note]).toEqual([
    40,
    expect.stringMatching(/^app=web means 45 pods: .*; the first 40 are shown$/),
  ]);
});
