/** The cluster of the benchmark of names, as manifests: pods with a rule by name, and one that no policy selects. */
import type { Address } from '../../src/model/address.ts';

export const NAMES_NODE = 'n1';
export const NAMES_NODE_ADDRESSES = ['172.18.0.11', 'fd00:18::11'] as Address[];
/** The resolver's address for pods, and its own one. */
export const SERVICE = '10.96.0.10' as Address;
export const RESOLVER = '10.1.1.53' as Address;
export const WEB = ['10.1.1.80', 'fd00:1::1:80'] as Address[];
/** Addresses of the pod that no policy selects. */
export const FREE = ['10.1.1.10', 'fd00:1::1:10'] as Address[];
/** The addresses of the names of the zone. */
export const ZONE = { ip: '10.98.0.0/16', ip6: 'fd00:98::/64' } as const;

const PODS = 64;

/** Addresses of the pods with a rule by name; each asks as much as one may. */
export const NAMED: readonly (readonly [Address, Address])[] = Array.from({ length: PODS }, (_, i) => [
  `10.1.0.${i + 1}` as Address,
  `fd00:1::${(i + 1).toString(16)}` as Address,
]);

export function namesManifests(): string {
  const pods = NAMED.map((addresses, i) => podText(`named-${i}`, 'named', addresses));
  return [CLUSTER, ...pods, podText('free', 'free', FREE)].join('---\n');
}

function podText(name: string, app: string, [v4, v6]: readonly Address[]): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop, labels: { app: ${app} } }
spec: { nodeName: ${NAMES_NODE}, containers: [{ name: c, image: c }] }
status: { phase: Running, podIP: ${v4}, podIPs: [{ ip: ${v4} }, { ip: '${v6}' }] }
`;
}

const CLUSTER = `apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
apiVersion: v1
kind: Node
metadata: { name: ${NAMES_NODE} }
status: { addresses: [{ type: InternalIP, address: ${NAMES_NODE_ADDRESSES[0]} }, { type: InternalIP, address: '${NAMES_NODE_ADDRESSES[1]}' }] }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: by-name }
spec:
  tier: Admin
  priority: 10
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: named } } } }
  egress:
  - { name: dns, action: Accept, to: [{ networks: [${RESOLVER}/32] }] }
  - { name: by-name, action: Accept, to: [{ domainNames: ['*.t.example'] }] }
  - { name: nowhere, action: Deny, to: [{ networks: [0.0.0.0/0, '::/0'] }] }
`;
