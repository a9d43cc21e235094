/** Addresses that Services share with each other or with a node, and traffic policies: explained and dialled. */
import { beforeAll, expect, test } from 'vitest';
import { ask, type KubeObject, pathOf, read, remove } from './support/api.ts';
import { families, proxy, server, until } from './support/cluster.ts';
import { type Dial, expectAsExplained } from './support/explained.ts';
import {
  connection,
  endpoint,
  type Place,
  PORT,
  type RunningPod,
  type Site,
  settles,
  site,
} from './support/site.ts';

let place: Site;
let far: RunningPod;
let near: RunningPod;
const backends: RunningPod[] = [];
let shared: readonly string[];
const SHARED_PORTS = [8091, 8092] as const;
const KUBELET = 10250;
const API_SERVER = new URL(server);

const outside = (address: string) => (address.includes(':') ? 'fd00:18::1' : '172.18.0.1');

/** The status that a load balancer's controller would write. */
async function balanced(service: KubeObject, ingress: readonly object[]): Promise<void> {
  const status = { loadBalancer: { ingress } };
  await ask('PATCH', `${pathOf(service)}/status`, { status }, 'application/merge-patch+json');
}

// Without kube-proxy nobody serves the addresses of Services here.
beforeAll(async () => {
  if (proxy === 'none') return;
  place = await site('serviceaddresses');
  near = await place.pod('near', { node: 'node1' });
  far = await place.pod('far', { node: 'node2' });
  const { status } = await read({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node2' } });
  shared = status.addresses
    .filter(({ type }: { type: string }) => type === 'InternalIP')
    .map(({ address }: { address: string }) => address);
  for (const [i, port] of SHARED_PORTS.entries()) {
    const name = `backend-${i + 1}`;
    backends.push(await place.pod(name, { node: `node${i + 1}` }));
    const service = await place.service(name, {
      type: 'LoadBalancer',
      selector: { name },
      ipFamilyPolicy: 'PreferDualStack',
      ports: [{ port, targetPort: PORT }],
    });
    await balanced(
      service,
      shared.map(ip => ({ ip })),
    );
  }
});

const clients = (address: string): readonly (readonly [Place, string])[] => [
  [near, `${place.namespace}/near`],
  [far, `${place.namespace}/far`],
  ['outside', outside(address)],
];

function sharedDials(): Dial[] {
  return shared.flatMap(address =>
    // A kubelet listens on IPv4 alone.
    [...SHARED_PORTS, ...(address.includes(':') ? [] : [KUBELET])].flatMap(port =>
      clients(address).map(([client, from]) => {
        const to = endpoint(address, port);
        return { title: `${from} -> ${to}`, client, from, to };
      }),
    ),
  );
}

test.skipIf(proxy === 'none')(
  'Services that share the address of a node are told apart by their ports, and other ports are the node itself',
  async () => {
    for (const address of shared)
      for (const port of SHARED_PORTS)
        expect(await settles(near, endpoint(address, port), 'open')).toBe('open');
    await expectAsExplained(sharedDials());

    const closed = { podSelector: { matchLabels: { name: 'backend-2' } }, policyTypes: ['Ingress'] };
    const policy = await place.policy('second', closed);
    for (const address of backends[1]!.addresses)
      expect(await settles(near, endpoint(address), 'closed')).toBe('closed');
    await expectAsExplained(sharedDials());
    await remove(policy);
  },
);

test.skipIf(proxy === 'none')(
  'internalTrafficPolicy Local leads to endpoints of the own node alone',
  async () => {
    const service = await place.service('local', {
      selector: { name: 'backend-1' },
      internalTrafficPolicy: 'Local',
      ipFamilyPolicy: 'PreferDualStack',
      ports: [{ port: 80, targetPort: PORT }],
    });
    const { spec } = await read(service);
    expect(spec.clusterIPs).toHaveLength(families.length);
    for (const address of spec.clusterIPs)
      expect(await settles(near, endpoint(address, 80), 'open')).toBe('open');
    await expectAsExplained(
      spec.clusterIPs.flatMap((address: string) =>
        [near, far].map(client => {
          const from = `${place.namespace}/${client.name}`;
          return { title: `${from} -> ${address}`, client, from, to: endpoint(address, 80) };
        }),
      ),
    );
    await remove(service);
  },
);

// The API server stands for a load balancer: it answers at its address, and kube-proxy is told to leave that alone.
test.skipIf(proxy === 'none')('ipMode Proxy leaves a connection to the load balancer', async () => {
  const port = Number(API_SERVER.port);
  const ip = API_SERVER.hostname.replace(/[[\]]/g, '');
  const service = await place.service('proxied', {
    type: 'LoadBalancer',
    selector: { name: 'backend-1' },
    ipFamilies: [ip.includes(':') ? 'IPv6' : 'IPv4'],
    ports: [{ port, targetPort: PORT }],
  });
  await balanced(service, [{ ip, ipMode: 'Proxy' }]);
  await until('the status of the Service', async () =>
    (await read(service)).status.loadBalancer.ingress?.[0]?.ipMode === 'Proxy' ? true : undefined,
  );
  const to = endpoint(ip, port);
  const dials = [near, far].map(client => {
    const from = `${place.namespace}/${client.name}`;
    return { title: `${from} -> ${to}`, client, from, to };
  });
  await expectAsExplained(dials);
  // Who may reach the pods behind may not reach the load balancer, and the other way round.
  const egress = (to: object) => ({ podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [to] }] });
  const toPods = await place.policy('to', egress({ podSelector: { matchLabels: { name: 'backend-1' } } }));
  expect(await settles(near, to, 'closed')).toBe('closed');
  expect(await connection(near, endpoint(backends[0]!.address))).toBe('open');
  await expectAsExplained(dials);
  await remove(toPods);
  const toIp = await place.policy(
    'to',
    egress({ ipBlock: { cidr: `${ip}/${ip.includes(':') ? 128 : 32}` } }),
  );
  expect(await settles(near, endpoint(backends[0]!.address), 'closed')).toBe('closed');
  await expectAsExplained(dials);
  await remove(toIp);
});
