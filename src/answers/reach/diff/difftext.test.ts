import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { whatText } from './difftext.ts';
import { diffOf } from './diffview.ts';

const pod = (addresses: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop }, spec: { containers: [{ name: c }] }, status: { podIPs: [${addresses}] } }`;
const policy =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: some, namespace: shop }, spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: "::/0" } }] }] } }';

test.each([
  ['{ ip: 10.0.0.1 }', 'all'],
  ['{ ip: 10.0.0.1 }, { ip: "fd00::1" }', 'all over IPv4'],
])('the family is said where pods have another one too: %s', (addresses, what) => {
  const view = diffOf(clusterView(pod(addresses)), clusterView(`${pod(addresses)}\n---\n${policy}`), 'allow');
  expect(view.changes.map(change => whatText(view, change))).toEqual([what]);
});
