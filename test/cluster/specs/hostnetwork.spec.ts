import { beforeAll, expect, test } from 'vitest';
import { patch, remove } from './support/api.ts';
import { families } from './support/cluster.ts';
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
import { webhook } from './support/webhook.ts';

let place: Site;
let web: RunningPod;
let client: RunningPod;
let onNode: Record<'node1' | 'node2', RunningPod>;
const HOST_PORT = 18080;

beforeAll(async () => {
  place = await site('hostnetwork');
  web = await place.pod('web', { node: 'node1' });
  client = await place.pod('client', { node: 'node2' });
  const host = { port: HOST_PORT, spec: { hostNetwork: true }, labels: { host: 'yes' } };
  onNode = {
    node1: await place.pod('host1', { ...host, node: 'node1' }),
    node2: await place.pod('host2', { ...host, node: 'node2' }),
  };
});

test('a policy that selects every pod leaves pods with the network of their node alone', async () => {
  const deny = await place.policy('deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  expect(await settles(client, endpoint(web.address), 'closed')).toBe('closed');
  // N45: neither what comes to the node nor what leaves it.
  expect(await connection('outside', endpoint(onNode.node1.address, HOST_PORT))).toBe('open');
  expect(await connection(onNode.node1, endpoint(onNode.node2.address, HOST_PORT))).toBe('open');
  await remove(deny);
});

test('the pods of a node are open to it, and closed to other nodes', async () => {
  const deny = await place.policy('deny', { podSelector: {}, policyTypes: ['Ingress'] });
  expect(await settles(client, endpoint(web.address), 'closed')).toBe('closed');
  expect(await connection(onNode.node1, endpoint(web.address, PORT))).toBe('open'); // N43
  expect(await connection(onNode.node2, endpoint(web.address, PORT))).toBe('closed'); // N44
  await remove(deny);
});

test('a pod with the network of its node is a peer by its address, not by its labels', async () => {
  const ingress = (peer: object) => ({
    podSelector: { matchLabels: { name: 'web' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [peer] }],
  });
  const byLabel = await place.policy('by-label', ingress({ podSelector: { matchLabels: { host: 'yes' } } }));
  expect(await settles(onNode.node2, endpoint(web.address), 'closed')).toBe('closed'); // N46
  await remove(byLabel);

  const address = onNode.node2.address;
  const cidr = `${address}/${address.includes(':') ? 128 : 32}`;
  await place.policy('by-address', ingress({ ipBlock: { cidr } }));
  expect(await settles(onNode.node2, endpoint(web.address), 'open')).toBe('open');
  expect(await settles(client, endpoint(web.address), 'closed')).toBe('closed');
});

test('what a pod may reach of its own node is its egress policy', async () => {
  expect(await settles(web, endpoint(onNode.node1.address, HOST_PORT), 'open')).toBe('open');
  const only = { podSelector: { matchLabels: { name: 'web' } }, policyTypes: ['Egress'] };
  await place.policy('no-egress', { ...only, egress: [] });
  expect(await settles(web, endpoint(onNode.node1.address, HOST_PORT), 'closed')).toBe('closed'); // C32
  expect(await connection(web, endpoint(onNode.node2.address, HOST_PORT))).toBe('closed');
  expect(await connection(web, endpoint(web.address))).toBe('open'); // N40
});

// N75: where there are tunnels between the nodes, the call has the address of one.
test.each(families.map((family, nth) => [family, nth] as const))(
  'an isolated webhook is called from another node if its policy has the InternalIP of that node, over IPv%s',
  async (family, nth) => {
    const name = `webhook${family}`;
    const pod = await place.pod(name, { node: 'node1' });
    const policy = await place.policy(name, { podSelector: { matchLabels: { name } }, ingress: [] });
    const hook = await webhook(place, pod, onNode.node2, nth);
    try {
      expect(await becomes(hook.ask, 'unanswered')).toBe('unanswered');
      const cidr = `${onNode.node2.addresses[nth]}/${family === '6' ? 128 : 32}`;
      await patch(policy, { spec: { ingress: [{ from: [{ ipBlock: { cidr } }] }] } });
      expect(await becomes(hook.ask, 'answered')).toBe('answered');
    } finally {
      await hook.end();
    }
  },
);
