import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { diffOf } from './diff/diffview.ts';
import { endText, rowsOf } from './rows.ts';
import { matrixViewOf } from './view.ts';

const NODE =
  '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, spec: { podCIDRs: [10.1.0.0/24] }, status: { addresses: [{ type: InternalIP, address: 172.18.0.1 }] } }';
const POD =
  '{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: 10.1.0.10 } }';
const egress = (rules: string) =>
  `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: nodes }, spec: { tier: Admin, priority: 1, subject: { namespaces: {} }, egress: [${rules}] } }`;
const DNS =
  '{ action: Accept, to: [{ nodes: {} }], protocols: [{ udp: { destinationPort: { number: 53 } } }] }';
const DENY = '{ action: Deny, to: [{ nodes: {} }] }';
const denySsh = (network: string) =>
  egress(
    `${DNS}, { action: Deny, to: [{ networks: [${network}] }], protocols: [{ tcp: { destinationPort: { number: 22 } } }] }`,
  );
const CLOSED =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: closed, namespace: shop }, spec: { podSelector: {}, policyTypes: [Egress] } }';
const view = (...policies: string[]) => clusterView([NODE, POD, ...policies].join('\n---\n'));

/** What the pod reaches of its node: the texts of the ends. */
function ofNode(...policies: string[]): string[] {
  const matrix = matrixViewOf(view(...policies), 'allow');
  const rows = rowsOf(matrix, () => true).filter(({ from }) => from.kind === 'workload');
  return rows.flatMap(({ to }) => (to.kind === 'node' ? [endText(to)] : []));
}

test('a matrix lists the first addresses of the pod networks of a node where a rule denies it, and not elsewhere (C59)', () => {
  expect(ofNode()).toEqual(['node/n1']);
  expect(ofNode(egress(DNS), CLOSED)).toEqual(['node/n1']);
  expect(ofNode(egress(DENY))).toEqual([]);
  expect(ofNode(egress(`${DNS}, ${DENY}`))).toEqual(['node/n1 (172.18.0.1)']);
  expect(ofNode(denySsh('172.18.0.1/32'))).toEqual(['node/n1']);
  expect(ofNode(denySsh('172.18.0.2/32'))).toEqual(['node/n1']);
});

test('a comparison says that they open where a policy takes the place of a denial that meant them too', () => {
  const but =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: but, namespace: shop }, spec: { podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 0.0.0.0/0, except: [172.18.0.0/24] } }] }] } }';
  const { changes } = diffOf(view(egress(DENY)), view(but), 'allow');
  const opened = changes.flatMap(({ kind, from, to }) =>
    kind === 'opens' && from.includes('Pod shop/web') ? to : [],
  );
  expect(opened).toEqual(['node/n1 (10.1.0.0)', 'node/n1 (10.1.0.1)']);
});
