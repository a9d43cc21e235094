/**
 * Ports of nodes: what `sluice explain` says of each combination of where the client, the node that is dialled and the pod
 * behind are is what connections meet, over both families, whatever network and kube-proxy there are.
 */
import { beforeAll, expect, test } from 'vitest';
import { type KubeObject, patch, read, remove } from './support/api.ts';
import { families, proxy } from './support/cluster.ts';
import { type Dial, expectAsExplained } from './support/explained.ts';
import { endpoint, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

const NODES = ['node1', 'node2'] as const;
type NodeName = (typeof NODES)[number];
const HOST_PORT = 18091;
/** By the node of the pod behind, and the externalTrafficPolicy. */
const NODE_PORTS = {
  node1: { Cluster: 30091, Local: 30092 },
  node2: { Cluster: 30093, Local: 30094 },
} as const;

let place: Site;
const clients = {} as Record<NodeName, RunningPod>;
const backends = {} as Record<NodeName, RunningPod>;
const addresses = {} as Record<NodeName, string[]>;

const isOfFamily = (address: string, family: '4' | '6') => address.includes(':') === (family === '6');
const outside = (family: '4' | '6') => (family === '4' ? '172.18.0.1' : 'fd00:18::1');

beforeAll(async () => {
  place = await site('nodeports');
  for (const node of NODES) {
    const { status } = await read({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    addresses[node] = status.addresses
      .filter(({ type }: { type: string }) => type === 'InternalIP')
      .map(({ address }: { address: string }) => address);
    clients[node] = await place.pod(`client-${node}`, { node, labels: { role: 'client' } });
    backends[node] = await place.pod(`backend-${node}`, {
      node,
      labels: { role: 'backend' },
      container: { ports: [{ containerPort: PORT, hostPort: HOST_PORT }] },
    });
    for (const [policy, nodePort] of Object.entries(NODE_PORTS[node]))
      await place.service(`${node}-${policy.toLowerCase()}`, {
        type: 'NodePort',
        externalTrafficPolicy: policy,
        selector: { name: `backend-${node}` },
        ipFamilyPolicy: 'PreferDualStack',
        ports: [{ port: 80, targetPort: PORT, nodePort }],
      });
  }
});

/** Each client to each node, by each port that leads to each pod. */
function dials(): Dial[] {
  return families.flatMap(family =>
    ([...NODES, 'outside'] as const).flatMap(client =>
      NODES.flatMap(dialled => {
        const address = addresses[dialled].find(each => isOfFamily(each, family));
        if (address === undefined) throw new Error(`${dialled} has no address of IPv${family}`);
        const ports = [
          { port: HOST_PORT, title: `host port of ${dialled}` },
          // Without kube-proxy nobody serves node ports here.
          ...(proxy === 'none' ? [] : nodePorts()),
        ];
        return ports.map(({ port, title }) => ({
          title: `${client} -> ${dialled}, ${title}, IPv${family}`,
          client: client === 'outside' ? client : clients[client],
          from: client === 'outside' ? outside(family) : `${place.namespace}/client-${client}`,
          to: endpoint(address, port),
        }));
      }),
    ),
  );
}

function nodePorts() {
  return NODES.flatMap(node =>
    Object.entries(NODE_PORTS[node]).map(([policy, port]) => ({ port, title: `${policy} to ${node}` })),
  );
}

/** Policies turn what clients reach directly from open to closed or back, so it shows when they are in force. */
async function directly(wanted: 'open' | 'closed'): Promise<void> {
  for (const client of Object.values(clients))
    for (const backend of Object.values(backends))
      for (const address of backend.addresses)
        expect(await settles(client, endpoint(address), wanted)).toBe(wanted);
}

const only = (...networks: readonly string[]) =>
  networks.map(address => ({ ipBlock: { cidr: `${address}/${address.includes(':') ? 128 : 32}` } }));
const PODS = [{ podSelector: { matchLabels: { role: 'backend' } } }];
const egress = (to: object[]) => ({
  podSelector: { matchLabels: { role: 'client' } },
  policyTypes: ['Egress'],
  egress: [{ to }],
});
const ingress = (from: object[]) => ({
  podSelector: { matchLabels: { role: 'backend' } },
  policyTypes: ['Ingress'],
  ingress: [{ from }],
});

test('without policy each is open, but where nobody answers', async () => {
  await directly('open');
  await expectAsExplained(dials());
});

test('the egress of a client is judged by what packets show it', async () => {
  const policy = await place.policy('clients', egress(only(...addresses.node1)));
  await directly('closed');
  await expectAsExplained(dials());
  await change(policy, egress(PODS), 'open');
  await change(policy, egress(only(...addresses.node2)), 'closed');
  await remove(policy);
  await directly('open');
});

test('the ingress of a pod behind a port is judged by what packets show it', async () => {
  const policy = await place.policy('backends', ingress(only(...addresses.node1)));
  await directly('closed');
  await expectAsExplained(dials());
  const own = Object.values(clients).flatMap(client => client.addresses);
  await change(policy, ingress(only(...own)), 'open');
  await change(policy, ingress(only(...addresses.node2)), 'closed');
  await change(policy, ingress([{ podSelector: { matchLabels: { role: 'client' } } }]), 'open');
  await change(policy, ingress(only(...families.map(outside))), 'closed');
  await remove(policy);
});

async function change(policy: KubeObject, spec: object, wanted: 'open' | 'closed'): Promise<void> {
  await patch(policy, { spec });
  await directly(wanted);
  await expectAsExplained(dials());
}
