/** Between a client and the workload stands an Ingress controller: policy sees the controller's pod and nobody else. */
import { beforeAll, expect, test } from 'vitest';
import { nodeAddress, patch } from './support/api.ts';
import { proxy } from './support/cluster.ts';
import { ingress, ingressController, request } from './support/ingress.ts';
import {
  becomes,
  connection,
  endpoint,
  PORT,
  type RunningPod,
  type Site,
  settles,
  site,
} from './support/site.ts';

const HOST = 'shop.example';
const HOST_PORT = 18082;

let place: Site;
let web: RunningPod;
let visitor: RunningPod;
let controller: RunningPod;
const throughController = () => request(visitor, controller.address, PORT, HOST);
const directly = () => endpoint(web.address);
const named = (name: string) => ({ podSelector: { matchLabels: { name } } });
const inNamespace = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});
const CONTROLLER = { ...inNamespace('own-ingress'), ...named('controller') };
const from = (...peers: readonly object[]) => ({ spec: { ingress: [{ from: peers }] } });

beforeAll(async () => {
  place = await site('shop');
  web = await place.pod('web', { node: 'node1' });
  visitor = await place.pod('visitor', { node: 'node2' });
  await place.service('web', { selector: { name: 'web' }, ports: [{ port: 80, targetPort: PORT }] });
  controller = await ingressController('node2', HOST_PORT);
  await ingress(place.namespace, HOST, 'web');
});

// Without kube-proxy the controller cannot ask the API server for its Ingresses.
test.skipIf(proxy === 'none')(
  'what an Ingress controller asks of an isolated pod is judged as its own, whoever asked the controller',
  async () => {
    expect(await becomes(throughController, 'served')).toBe('served');
    expect(await connection(visitor, directly())).toBe('open');

    // Nobody: what the controller keeps open to the pod is cut.
    const policy = await place.policy('web', { ...named('web'), policyTypes: ['Ingress'] });
    expect(await settles(visitor, directly(), 'closed')).toBe('closed');
    expect(await becomes(throughController, 'unserved')).toBe('unserved');

    // The controller alone: it serves everybody, and nobody gets around it, of its own namespace neither.
    await patch(policy, from(CONTROLLER));
    expect(await becomes(throughController, 'served')).toBe('served');
    const node = await nodeAddress('node2');
    expect(await becomes(() => request('outside', node, HOST_PORT, HOST), 'served')).toBe('served');
    expect(await connection(visitor, directly())).toBe('closed');
    expect(await connection('outside', directly())).toBe('closed');

    // The visitor alone, by its labels and by its address: through the controller it is not the visitor.
    const address = `${visitor.address}/${visitor.address.includes(':') ? 128 : 32}`;
    for (const peer of [named('visitor'), { ipBlock: { cidr: address } }]) {
      await patch(policy, from(peer));
      expect(await settles(visitor, directly(), 'open')).toBe('open');
      expect(await becomes(throughController, 'unserved')).toBe('unserved');
    }
  },
);
