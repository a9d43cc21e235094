import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from '../questions/answer.ts';
import { guessNotes, hostNetworkChanges, hostNetworkNotes } from './leftout.ts';

const NODE =
  '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.1 }] } }';
const exporter = (hostNetwork: boolean) =>
  `{ apiVersion: apps/v1, kind: DaemonSet, metadata: { name: exporter, namespace: monitoring }, spec: { template: { metadata: { labels: { app: exporter } }, spec: { hostNetwork: ${hostNetwork} } } } }`;
const pod = (name: string, spec: string, status = '') =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: monitoring, labels: { app: ${name} } }, spec: { ${spec} } ${status} }`;
const DENY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: deny, namespace: monitoring }, spec: { podSelector: {}, policyTypes: [Ingress, Egress] } }';
const view = (...objects: string[]) =>
  clusterView(objects.join('\n---\n'), { defaultNamespace: 'monitoring' });
const everybody = () => true;

const WEB = pod('web', 'nodeName: n1', ', status: { podIP: 10.1.0.2 }');
const PROXY = pod('proxy', 'nodeName: n1, hostNetwork: true', ', status: { podIP: 172.18.0.1 }');
const PENDING = pod('pending', 'hostNetwork: true');

test('a matrix says which workloads are its nodes', () => {
  const state = view(NODE, WEB, PROXY, PENDING, exporter(true));
  expect(hostNetworkNotes(state, everybody)).toEqual([
    'on the network of their nodes, so policy does not select them: monitoring/exporter, monitoring/pending, monitoring/proxy; they reach, and are reached, as their nodes (node/NAME)',
  ]);
  expect(hostNetworkNotes(state, ({ labels }) => labels.app === 'web')).toEqual([]);
  expect(hostNetworkNotes(view(exporter(true)), everybody).join()).toContain('there is no Node');
});

test('a comparison says which workloads come under policy, and which escape it', () => {
  const [before, after] = [view(NODE, exporter(false)), view(NODE, exporter(true))];
  const out = 'monitoring/exporter: now on the network of its node, where no policy selects it';
  const back = 'monitoring/exporter: no longer on the network of its node, so policies select it';
  expect(hostNetworkChanges(before, after, everybody)).toEqual([out]);
  expect(hostNetworkChanges(after, before, everybody)).toEqual([back]);
  expect(hostNetworkChanges(after, after, everybody)).toEqual([]);
  expect(hostNetworkChanges(view(NODE), after, everybody)).toEqual([]);
});

test.each([
  ['ds/exporter:9100', 'monitoring/ds/exporter on n1'],
  ['proxy:80', 'monitoring/proxy'],
  ['pending:80', 'monitoring/pending on n1'],
])('explain says of %s that policy does not select what is on the network of its node', (to, name) => {
  const objects = [NODE, WEB, PROXY, PENDING, exporter(true)];
  const { verdict, cases } = answer(view(...objects, DENY), { from: 'web', to });
  expect(verdict).toBe('deny'); // at egress
  expect(cases.map(each => each.to.endpoint.isOnNode)).toEqual([true]);
  const { reason } = answer(view(...objects), { from: '203.0.113.1', to });
  expect(reason).toBe(`${name} is on its node's network: policy does not select it`);
});

test('unknown pods are said to be left out where a network of a policy has some of them, and not all of the internet', () => {
  const node = NODE.replace(
    'metadata: { name: n1 }',
    'metadata: { name: n1 }, spec: { podCIDRs: [10.1.0.0/24] }',
  );
  const from = (cidr: string) =>
    DENY.replace('[Ingress, Egress]', `[Ingress], ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }]`);
  const guesses = { unknownPods: true, podTunnels: false, why: 'nobody said how' };
  const notes = (cidr: string, known = guesses) =>
    guessNotes([view(node, WEB, from(cidr)).cluster], known, true);
  for (const cidr of ['10.1.0.0/16', '10.1.0.8/29', '10.0.0.0/8'])
    expect(notes(cidr), cidr).toEqual([
      expect.stringMatching(/^addresses of 10\.1\.0\.0\/24 that no known pod has are left out/),
    ]);
  for (const cidr of ['0.0.0.0/0', '10.2.0.0/16', '198.51.100.0/24']) expect(notes(cidr), cidr).toEqual([]);
  expect(notes('10.0.0.0/8', { ...guesses, unknownPods: false })).toEqual([]);
});
