import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { contestedTunnels } from './tunneladdresses.ts';

const node = (name: string, cidr: string) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: ${name}, annotations: { flannel.alpha.coreos.com/backend-type: vxlan, flannel.alpha.coreos.com/public-ip: 192.0.2.1 } }, spec: { podCIDRs: [${cidr}] } }`;
const pod = (name: string, on: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: x }, spec: { nodeName: ${on}, containers: [{ name: c }] }, status: { podIPs: [{ ip: ${ip} }] } }`;

test('a tunnel address is contested by other nodes and their pods, not by a pod of its own node', () => {
  const { cluster } = clusterView(
    [
      node('n1', '10.1.0.0/24'),
      node('n2', '10.2.0.0/24'),
      node('twin', '10.2.0.0/24'),
      node('n3', '10.3.0.0/24'),
      pod('own', 'n1', '10.1.0.0'),
      pod('liar', 'n1', '10.3.0.0'),
      pod('other', 'n2', '10.3.0.0'),
      pod('honest', 'n3', '10.3.0.5'),
    ].join('\n---\n'),
  );
  expect([...contestedTunnels(cluster)]).toEqual([
    ['10.2.0.0', ['n2', 'twin']],
    ['10.3.0.0', ['n3', 'pod x/liar on n1', 'pod x/other on n2']],
  ]);
});
