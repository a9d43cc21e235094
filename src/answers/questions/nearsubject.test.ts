import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const pod = (name: string, labels: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { ${labels} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (labels: string, namespace = 'shop') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: ${namespace} }, spec: { podSelector: { matchLabels: { ${labels} } } } }`;
const BOTH = [pod('web-1', 'app: web, tier: front', '10.0.0.1'), pod('db-1', 'app: db', '10.0.0.2')];
const NOTE =
  'NetworkPolicy shop/web selects nobody: no pod has app=wbe; did you mean app=web, as shop/web-1 has it?';

test.each<[string, readonly string[], readonly string[]]>([
  ['one label is mistyped', [policy('app: wbe')], [NOTE]],
  ['one of two labels is mistyped', [policy('app: wbe, tier: front')], [NOTE]],
  ['the label is far from it', [policy('app: payments')], []],
  ['another label is missing too', [policy('app: wbe, tier: back')], []],
  ['somebody else has the label', [policy('app: wbe'), pod('wbe-1', 'app: wbe', '10.0.0.3')], []],
  ['the policy is of another namespace', [policy('app: wbe', 'edge')], []],
  ['the policy selects it', [policy('app: web')], []],
])('a policy that selects nobody is named where %s', (_, objects, notes) => {
  const view = clusterView([...BOTH, ...objects].join('\n---\n'));
  const found = (from: string, to: string) =>
    answer(view, { from, to }).notes.filter(note => note.includes('did you mean'));
  expect(found('shop/db-1', 'shop/web-1:80')).toEqual(notes);
  expect(found('shop/web-1', 'shop/db-1:80')).toEqual(notes);
});

test('a workload without pods counts, as an end and as somebody who has the label', () => {
  const deployment = (app: string) =>
    `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${app}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${app} } }, spec: { containers: [] } } } }`;
  const of = (...objects: string[]) =>
    answer(clusterView(objects.join('\n---\n')), { from: 'internet', to: 'shop/deploy/web:80' }).notes;
  expect(of(deployment('web'), policy('app: wbe')).join()).toContain('did you mean app=web');
  expect(of(deployment('web'), deployment('wbe'), policy('app: wbe')).join()).not.toContain('did you mean');
});

test('a policy of the cluster is named where a label of its namespaces is mistyped', () => {
  const place = (name: string, team: string) =>
    `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { team: ${team} } } }`;
  const cluster = (labels: string) =>
    `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: guard }, spec: { tier: Admin, priority: 1, subject: { namespaces: { matchLabels: { ${labels} } } }, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] } }`;
  const notes = (...objects: string[]) =>
    answer(clusterView([...BOTH, ...objects].join('\n---\n')), {
      from: 'shop/db-1',
      to: 'shop/web-1:80',
    }).notes;
  expect(notes(place('shop', 'payments'), cluster('team: pyments'))).toEqual([
    'ClusterNetworkPolicy guard selects nobody: no namespace has team=pyments; did you mean team=payments, as shop has it?',
  ]);
  expect(notes(place('shop', 'payments'), cluster('team: orders'))).toEqual([]);
});
