/**
 * A cluster of three nodes with a client and a pod behind ports of nodes; and its packets, followed from hook to hook, as
 * kube-proxy and a network that masquerades or not would lead them.
 */
import type { Masquerade } from '../../../src/answers/questions/place.ts';
import { clusterView } from '../questions/clusterview.ts';

export const NODES = ['n1', 'n2', 'n3'] as const;
export type NodeName = (typeof NODES)[number];
export const ADDRESS = { n1: '172.18.0.1', n2: '172.18.0.2', n3: '172.18.0.3' } as const;
export const CLIENT = '10.9.0.2';
const BACKEND = '10.9.0.3';
export const HOST_PORT = 8081;
export const NODE_PORT = 30_080;
/** That of the Service with externalTrafficPolicy Local. */
export const LOCAL_PORT = 30_081;

/** Where the three of a connection are. */
export interface Combination {
  readonly client: NodeName | 'outside';
  readonly dialled: NodeName;
  readonly backend: NodeName;
}

/** What policy sees of the packet. */
interface Seen {
  /** As which address and port the egress of the client sees what it dials. */
  readonly egress: string;
  /** As whom the ingress of the pod sees its client; undefined: the packet does not get there. */
  readonly ingress: string | undefined;
}

/** Prerouting translates on the node that is dialled, forward asks, postrouting masquerades. */
export function packet(
  { client, dialled, backend }: Combination,
  port: number,
  masquerade: Masquerade,
): Seen {
  const led = `${BACKEND}:8080`;
  let source: string = CLIENT;
  let egress = `${ADDRESS[dialled]}:${port}`;
  if (client === dialled)
    egress = led; // translated in prerouting, before forward
  else {
    if (masquerade === 'yes' && client !== 'outside') source = ADDRESS[client]; // postrouting of the client's node
    if (port === LOCAL_PORT && backend !== dialled) return { egress, ingress: undefined };
  }
  if (backend === dialled) return { egress, ingress: source }; // the same forward hook, before postrouting
  return { egress, ingress: port === NODE_PORT ? ADDRESS[dialled] : source };
}

/** As manifests; without a node of a pod it is not said where that runs. */
export function world(
  { client, backend }: { readonly client?: NodeName | 'outside'; readonly backend?: NodeName },
  policies: readonly string[],
  masquerade?: Masquerade,
) {
  const objects = [
    ...NODES.map(node),
    ...(client === 'outside' ? [] : [pod('client', client, CLIENT, '8080')]),
    pod('backend', backend, BACKEND, `8080, hostPort: ${HOST_PORT}`),
    service('cluster', 'Cluster', NODE_PORT),
    service('local', 'Local', LOCAL_PORT),
    ...policies,
  ];
  return clusterView(objects.join('\n---\n'), masquerade === undefined ? {} : { masquerade });
}

const node = (name: NodeName) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: ${name} }, status: { addresses: [{ type: InternalIP, address: ${ADDRESS[name]} }] } }`;
const pod = (name: string, on: NodeName | undefined, ip: string, port: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { ${on === undefined ? '' : `nodeName: ${on}, `}containers: [{ name: c, ports: [{ containerPort: ${port} }] }] }, status: { podIP: ${ip} } }`;
const service = (name: string, policy: string, nodePort: number) =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { type: NodePort, externalTrafficPolicy: ${policy}, selector: { app: backend }, ports: [{ port: 80, targetPort: 8080, nodePort: ${nodePort} }] } }`;

/** The egress of the client goes to this address and port alone. */
export function egressTo(target: string): string {
  const [address, port] = target.split(':');
  return policy(
    'client',
    `policyTypes: [Egress], egress: [{ to: [${block(address!)}], ports: [{ port: ${port} }] }]`,
  );
}

/** The pod behind lets in these addresses alone. */
export function ingressFrom(...addresses: readonly string[]): string {
  const rule = addresses.length === 0 ? '' : `{ from: [${addresses.map(block)}] }`; // an empty `from` is everybody
  return policy('backend', `policyTypes: [Ingress], ingress: [${rule}]`);
}

const block = (address: string) => `{ ipBlock: { cidr: ${address}/32 } }`;

function policy(app: string, rules: string): string {
  return `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${app}, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${app} } }, ${rules} } }`;
}

export const TARGETS: readonly string[] = [
  `${BACKEND}:8080`,
  ...NODES.flatMap(name => [NODE_PORT, LOCAL_PORT, HOST_PORT].map(port => `${ADDRESS[name]}:${port}`)),
];
export const CLIENTS: readonly string[] = [CLIENT, ...Object.values(ADDRESS)];
