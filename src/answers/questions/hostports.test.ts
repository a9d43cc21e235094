import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import { answer } from './answer.ts';

const pod = (name: string, ip: string, port: string, more = '') =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop }, spec: { nodeName: n1, ${more} containers: [{ ports: [${port}] }] }, status: { podIP: ${ip} } }`;
const known = clusterView(
  [
    '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.1 }] } }',
    '{ apiVersion: v1, kind: Node, metadata: { name: n2 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] } }',
    pod('web', '10.1.0.2', '{ containerPort: 8080, hostPort: 80 }'),
    pod('inner', '10.1.0.3', '{ containerPort: 8080, hostPort: 81, hostIP: 127.0.0.1 }'),
    pod('host', '172.18.0.1', '{ containerPort: 82, hostPort: 82 }', 'hostNetwork: true,'),
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: shop }, spec: { podSelector: {}, ingress: [{ ports: [{ port: 9090 }] }] } }',
  ].join('\n---\n'),
);
const ask = (to: string, from = '198.51.100.7', here = known) => {
  const { verdict, notes } = answer(here, { from, to });
  return [verdict, notes.join()];
};
const LED =
  'port 80 of node n1 is a host port of shop/web: judged as the pod behind it; the egress of pods on other nodes is judged towards n1 itself';

test.each([
  ['172.18.0.1:80', ['deny', LED]],
  ['node/n1:80', ['deny', LED]],
  ['node/n1:80/UDP', ['allow', '']],
  ['node/n2:80', ['allow', '']],
  ['node/n1:81', ['allow', '']],
  ['node/n1:82', ['allow', '']],
])('explain judges %s as the pod behind a host port, where there is one', (to, said) => {
  expect(ask(to)).toEqual(said);
});

test('a pod that reaches itself by its host port is subject to policy', () => {
  expect(ask('node/n1:80', 'shop/web')).toEqual(['deny', LED]);
  expect(ask('10.1.0.2:8080', 'shop/web')[0]).toBe('allow');
});

test('who asks the agent is told that it knows neither Services nor host ports', () => {
  const agents = { ...known, inventory: NO_INVENTORY, knowsInventory: false };
  expect(ask('node/n1:80', '198.51.100.7', agents)).toEqual([
    'allow',
    expect.stringContaining('ask for that pod'),
  ]);
  expect(ask('shop/web:8080', '198.51.100.7', agents)).toEqual(['deny', '']);
  for (const [port, verdict] of [
    [29_999, 'allow'],
    [30_000, 'undecided'],
    [32_767, 'undecided'],
    [32_768, 'allow'],
  ] as const)
    expect(ask(`node/n1:${port}`, '198.51.100.7', agents)[0], String(port)).toBe(verdict);
  const { reason } = answer(agents, { from: '198.51.100.7', to: 'node/n1:30080' });
  expect(reason).toBe(
    'port 30080 of node n1 may lead to a Service, and Services are not known here: ask for a pod behind it, or ask the cluster (--kubeconfig) (if no pod is behind it, policy would allow it)',
  );
});
