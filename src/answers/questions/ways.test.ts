/**
 * Ports of nodes: each combination of the node of the client, the node that is dialled and the node of the pod behind
 * is judged as packets are, which are followed here from hook to hook.
 */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const NODES = ['n1', 'n2', 'n3'] as const;
type NodeName = (typeof NODES)[number];
const ADDRESS = { n1: '172.18.0.1', n2: '172.18.0.2', n3: '172.18.0.3' } as const;
const CLIENT = '10.9.0.2';
const BACKEND = '10.9.0.3';
const HOST_PORT = 8081;
const NODE_PORT = 30_080;
const LOCAL_PORT = 30_081;

interface Combination {
  readonly client: NodeName | 'outside';
  readonly dialled: NodeName;
  readonly backend: NodeName;
}

const COMBINATIONS: readonly Combination[] = [...NODES, 'outside' as const].flatMap(client =>
  NODES.flatMap(dialled => NODES.map(backend => ({ client, dialled, backend }))),
);

const text = ({ client, dialled, backend }: Combination) => `${client} -> ${dialled} -> ${backend}`;

interface Seen {
  /** As which address and port the egress of the client sees what it dials. */
  readonly egress: string;
  /** As whom the ingress of the pod sees its client; undefined: the packet does not get there. */
  readonly ingress: string | undefined;
}

/** The packet from hook to hook: prerouting translates on the node that is dialled, forward asks, postrouting masquerades. */
function packet({ client, dialled, backend }: Combination, port: number, masquerades: boolean): Seen {
  const led = `${BACKEND}:8080`;
  const isLocal = port === LOCAL_PORT;
  const kubeProxyMasquerades = port === NODE_PORT;
  let source: string = CLIENT;
  let egress = `${ADDRESS[dialled]}:${port}`;
  if (client === dialled)
    egress = led; // translated in prerouting, before forward
  else {
    if (masquerades && client !== 'outside') source = ADDRESS[client]; // postrouting of the client's node
    if (isLocal && backend !== dialled) return { egress, ingress: undefined };
  }
  if (backend === dialled) return { egress, ingress: source }; // the same forward hook, before postrouting
  return { egress, ingress: kubeProxyMasquerades ? ADDRESS[dialled] : source };
}

const node = (name: NodeName) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: ${name} }, status: { addresses: [{ type: InternalIP, address: ${ADDRESS[name]} }] } }`;
const pod = (name: string, nodeName: NodeName, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { nodeName: ${nodeName}, containers: [{ name: c, ports: [{ containerPort: 8080${name === 'backend' ? `, hostPort: ${HOST_PORT}` : ''} }] }] }, status: { podIP: ${ip} } }`;
const service = (name: string, policy: string, nodePort: number) =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { type: NodePort, externalTrafficPolicy: ${policy}, selector: { app: backend }, ports: [{ port: 80, targetPort: 8080, nodePort: ${nodePort} }] } }`;
const policy = (app: string, rules: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${app}, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${app} } }, ${rules} } }`;

function world({ client, backend }: Combination, policies: readonly string[], masquerade: 'yes' | 'no') {
  const pods = [
    ...(client === 'outside' ? [] : [pod('client', client, CLIENT)]),
    pod('backend', backend, BACKEND),
  ];
  const services = [service('cluster', 'Cluster', NODE_PORT), service('local', 'Local', LOCAL_PORT)];
  const objects = [...NODES.map(node), ...pods, ...services, ...policies];
  return clusterView(objects.join('\n---\n'), { masquerade });
}

function ask(known: ReturnType<typeof world>, { client, dialled }: Combination, port: number): string {
  const from = client === 'outside' ? CLIENT : 'shop/client';
  return answer(known, { from, to: `node/${dialled}:${port}` }).verdict;
}

const TARGETS = [
  `${BACKEND}:8080`,
  ...NODES.flatMap(name => [NODE_PORT, LOCAL_PORT, HOST_PORT].map(port => `${ADDRESS[name]}:${port}`)),
];
const CLIENTS = [CLIENT, ...Object.values(ADDRESS)];

const CASES = COMBINATIONS.flatMap(each =>
  ([NODE_PORT, LOCAL_PORT, HOST_PORT] as const).flatMap(port =>
    // A host port is there where its pod is.
    port === HOST_PORT && each.dialled !== each.backend
      ? []
      : (['yes', 'no'] as const).map(masquerade => ({ each, port, masquerade, title: text(each) })),
  ),
);

test.each(CASES)('egress of $title, port $port, masquerade $masquerade', ({ each, port, masquerade }) => {
  if (each.client === 'outside') return;
  const { egress, ingress } = packet(each, port, masquerade === 'yes');
  for (const target of TARGETS) {
    const [address, allowed] = target.split(':');
    const rule = policy(
      'client',
      `policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: ${address}/32 } }], ports: [{ port: ${allowed} }] }]`,
    );
    const said = ask(world(each, [rule], masquerade), each, port);
    const expected = ingress === undefined ? 'undecided' : target === egress ? 'allow' : 'deny';
    expect(said, `allowed ${target}`).toBe(expected);
  }
});

test.each(CASES)('ingress of $title, port $port, masquerade $masquerade', ({ each, port, masquerade }) => {
  const { ingress } = packet(each, port, masquerade === 'yes');
  for (const client of CLIENTS) {
    const rule = policy('backend', `ingress: [{ from: [{ ipBlock: { cidr: ${client}/32 } }] }]`);
    const said = ask(world(each, [rule], masquerade), each, port);
    // N43: a pod is always open to its own node.
    const isOpen = client === ingress || ingress === ADDRESS[each.backend];
    expect(said, `allowed ${client}`).toBe(ingress === undefined ? 'undecided' : isOpen ? 'allow' : 'deny');
  }
});
