/**
 * A client that dials an external address of a Service, or a port of a node, is seen with its own address or with that
 * of a node, depending on how kube-proxy forwards it.
 */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const node = (n: number) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: n${n} }, status: { addresses: [{ type: InternalIP, address: 172.18.0.${n} }] } }`;
const pod = (namespace: string, name: string, n: number, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }, spec: { nodeName: n${n}, containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const service = (name: string, app: string, ip: string, nodePort: number, policy: string) =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { type: LoadBalancer, clusterIP: 10.96.0.${nodePort - 30_000}, externalTrafficPolicy: ${policy}, selector: { app: ${app} }, ports: [{ port: 80, targetPort: 8080, nodePort: ${nodePort} }] }, status: { loadBalancer: { ingress: [{ ip: ${ip} }] } } }`;
const allowing = (cidr: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: shop }, spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }] } }`;
const shop = (cidr: string) =>
  clusterView(
    [
      ...[1, 2].map(node),
      pod('shop', 'near', 1, '10.1.0.2'),
      pod('shop', 'far', 2, '10.2.0.2'),
      pod('guest', 'visitor', 1, '10.1.0.9'),
      service('near', 'near', '203.0.113.10', 30_010, 'Cluster'),
      service('far', 'far', '203.0.113.11', 30_011, 'Cluster'),
      service('kept', 'far', '203.0.113.12', 30_012, 'Local'),
      allowing(cidr),
    ].join('\n---\n'),
  );
const CLIENT = '198.51.100.7';
const ask = (cidr: string, from: string, to: string) => {
  const { verdict, cases } = answer(shop(cidr), { from, to });
  return [verdict, ...cases.map(each => `${each.viaNode ?? 'himself'} ${each.verdict.verdict}`).sort()];
};

test.each([
  // A client outside may dial any node.
  [CLIENT, '203.0.113.10:80', ['deny', '172.18.0.2 deny', 'himself allow']],
  [CLIENT, '203.0.113.11:80', ['deny', '172.18.0.1 deny', 'himself allow']],
  [CLIENT, 'node/n1:30010', ['allow', 'himself allow']],
  [CLIENT, 'node/n2:30010', ['deny', '172.18.0.2 deny']],
  ['node/n1', '203.0.113.10:80', ['allow', 'himself allow']],
  // externalTrafficPolicy: Local.
  [CLIENT, '203.0.113.12:80', ['allow', 'himself allow']],
  [CLIENT, 'node/n2:30012', ['allow', 'himself allow']],
])('where the address of who dials is allowed: %s -> %s', (from, to, said) => {
  expect(ask('198.51.100.0/24', from, to)).toEqual(said);
});

test.each([
  // A pod that dials its own node keeps its address towards pods of this node; pods elsewhere see the node.
  ['guest/visitor', '203.0.113.10:80', ['deny', 'himself deny']],
  ['guest/visitor', '203.0.113.11:80', ['allow', '172.18.0.1 allow']],
  ['guest/visitor', '203.0.113.12:80', ['deny', 'himself deny']],
  ['guest/visitor', 'svc/far:80', ['deny', 'himself deny']],
  ['guest/visitor', 'node/n1:30011', ['allow', '172.18.0.1 allow']],
  // Another node sees the pod, or its node where the network masquerades.
  ['guest/visitor', 'node/n2:30011', ['undecided', 'himself deny']],
  // A node has its own address anyway.
  ['node/n1', '203.0.113.11:80', ['allow', 'himself allow']],
])('where the addresses of nodes are allowed: %s -> %s', (from, to, said) => {
  expect(ask('172.18.0.0/24', from, to)).toEqual(said);
});

test.each([
  ['yes', '172.18.0.0/24', 'allow'],
  ['yes', '10.1.0.0/24', 'deny'],
  ['no', '172.18.0.0/24', 'deny'],
  ['no', '10.1.0.0/24', 'allow'],
] as const)(
  'with --masquerade=%s and %s allowed, a pod that dials another node is judged: %#',
  (masquerade, cidr, said) => {
    const known = { ...shop(cidr), masquerade };
    expect(answer(known, { from: 'guest/visitor', to: 'node/n2:30011' }).verdict).toBe(said);
  },
);

test('what nobody can tell is said with both verdicts, and the option that settles it', () => {
  const { reason } = answer(shop('10.1.0.0/24'), { from: 'guest/visitor', to: 'node/n2:30011' });
  expect(reason).toContain('--masquerade=yes or no');
  expect(reason).toContain('shop/far sees 172.18.0.1, and policy would deny this; if not, it would allow it');
});

test('a note says as whom he is seen', () => {
  const notes = (to: string) => answer(shop('10.0.0.0/8'), { from: CLIENT, to }).notes.join();
  expect(notes('203.0.113.11:80')).toContain('pods on other nodes see that node');
  expect(notes('203.0.113.12:80')).toContain('externalTrafficPolicy Local');
  expect(notes('node/n2:30012')).toContain('externalTrafficPolicy is Local');
});
