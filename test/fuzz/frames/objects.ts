/** The objects of the API, and what kube-proxy makes of the Services among them. */
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import { ADDRESSES, NO_ENDPOINTS, nodeOf, type Pair, POD_NAMES, type PodName, SERVICES } from './network.ts';

const node = (name: 'n1' | 'n2', podCidrs: readonly string[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { podCIDRs: podCidrs },
  status: { addresses: Object.values(ADDRESSES[name]).map(at => ({ type: 'InternalIP', address: at })) },
});

const policy = (name: PodName, spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace: 'shop' },
  spec: { podSelector: { matchLabels: { app: name } }, ...spec },
});

const FROM_FRIEND = {
  policyTypes: ['Ingress'],
  ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }] }],
};

export const OBJECTS: readonly object[] = [
  node('n1', ['10.244.1.0/24', 'fd10:244:1::/64']),
  node('n2', ['10.244.2.0/24', 'fd10:244:2::/64']),
  ...POD_NAMES.map(name => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName: nodeOf(name), containers: [{ name: 'c' }] },
    status: { phase: 'Running', podIPs: Object.values(ADDRESSES[name]).map(ip => ({ ip })) },
  })),
  policy('attacker', { policyTypes: ['Ingress', 'Egress'] }),
  policy('victim', FROM_FRIEND),
  policy('sealed', FROM_FRIEND),
];

/**
 * In the shape of kube-proxy's nftables mode (pkg/proxy/nftables/proxier.go): translation at -100, and at -110 of forward,
 * input and output what a Service without endpoints, or a port that no Service has, is answered.
 */
export function kubeProxy(): string {
  return FAMILIES.map(
    family => `table ${family} kube-proxy {
  map service-ips { type ${type(family)} . inet_proto . inet_service : ${type(family)} . inet_service
    elements = { ${services(family).join(', ')} } }
  set cluster-ips { type ${type(family)}; elements = { ${clusterIps(family).join(', ')} } }
  map no-endpoint-services { type ${type(family)} . inet_proto . inet_service : verdict
    elements = { ${NO_ENDPOINTS[family]} . udp . 53 : goto reject-chain, ${NO_ENDPOINTS[family]} . tcp . 80 : goto reject-chain } }
  chain reject-chain { reject; }
  chain service-endpoints-check {
    ${family} daddr . meta l4proto . th dport vmap @no-endpoint-services
  }
  chain cluster-ips-check { ${family} daddr @cluster-ips reject; }
  chain filter-input { type filter hook input priority -110; ct state new jump service-endpoints-check; }
  chain filter-forward { type filter hook forward priority -110
    ct state new jump service-endpoints-check; ct state new jump cluster-ips-check; }
  chain filter-output { type filter hook output priority -110
    ct state new jump service-endpoints-check; ct state new jump cluster-ips-check; }
  chain nat-prerouting { type nat hook prerouting priority -100
    dnat ${family} to ${family} daddr . meta l4proto . th dport map @service-ips
  }
}
`,
  ).join('');
}

function services(family: Family): string[] {
  return Object.values(SERVICES).flatMap(
    ({ vip, to, port }: { vip: Pair; to: Pair; port: number | undefined }) => [
      `${vip[family]} . udp . 53 : ${to[family]} . ${port ?? 53}`,
      `${vip[family]} . tcp . 80 : ${to[family]} . ${port ?? 80}`,
    ],
  );
}

function clusterIps(family: Family): Address[] {
  return [NO_ENDPOINTS, ...Object.values(SERVICES).map(({ vip }) => vip)].map(vip => vip[family]);
}

function type(family: Family): string {
  return family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
}
