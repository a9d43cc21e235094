import { beforeAll, expect, test } from 'vitest';
import { nodeAddress, patch, remove } from './support/api.ts';
import { families, proxy } from './support/cluster.ts';
import { connection, endpoint, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

let place: Site;
let web: RunningPod;
const HOST_PORT = 18081;
const NODE_PORT = { cluster: 30080, local: 30081 };
// What is outside of the nodes, and the nodes, as the network of the cluster has them.
const four = families[0] === '4';
const OUTSIDE = four ? '172.18.0.1/32' : 'fd00:18::1/128';
const NODES = await Promise.all(['node1', 'node2'].map(nodeAddress));
const toHostPort = endpoint(NODES[0]!, HOST_PORT);
const toNodePort = (node: number, policy: keyof typeof NODE_PORT) =>
  endpoint(NODES[node]!, NODE_PORT[policy]);

beforeAll(async () => {
  place = await site('ports');
  web = await place.pod('web', {
    node: 'node1',
    container: { ports: [{ containerPort: PORT, hostPort: HOST_PORT }] },
  });
  for (const [policy, nodePort] of Object.entries(NODE_PORT)) {
    await place.service(policy, {
      type: 'NodePort',
      externalTrafficPolicy: policy === 'local' ? 'Local' : 'Cluster',
      selector: { name: 'web' },
      ipFamilyPolicy: 'PreferDualStack',
      ports: [{ port: 80, targetPort: PORT, nodePort }],
    });
  }
});

const ISOLATED = { podSelector: {}, policyTypes: ['Ingress'] };
const TO_OUTSIDE = { spec: { ingress: [{ from: [{ ipBlock: { cidr: OUTSIDE } }] }] } };

test('a host port of an isolated pod is as closed as the pod, and open to whom policy allows', async () => {
  expect(await settles('outside', toHostPort, 'open')).toBe('open');
  const policy = await place.policy('isolated', ISOLATED);
  expect(await settles('outside', toHostPort, 'closed')).toBe('closed');
  expect(await connection('outside', endpoint(web.address))).toBe('closed');

  await patch(policy, TO_OUTSIDE);
  expect(await settles('outside', toHostPort, 'open')).toBe('open');
  await remove(policy);
});

// Without kube-proxy nobody serves node ports here.
test.skipIf(proxy === 'none')(
  'node ports of an isolated pod are closed, and open to whom policy allows',
  async () => {
    expect(await settles('outside', toNodePort(0, 'cluster'), 'open')).toBe('open');
    expect(await settles('outside', toNodePort(1, 'cluster'), 'open')).toBe('open');
    expect(await settles('outside', toNodePort(0, 'local'), 'open')).toBe('open');

    const policy = await place.policy('isolated', ISOLATED);
    expect(await settles('outside', toNodePort(0, 'cluster'), 'closed')).toBe('closed');
    expect(await connection('outside', toNodePort(1, 'cluster'))).toBe('closed');
    expect(await connection('outside', toNodePort(0, 'local'))).toBe('closed');

    await patch(policy, TO_OUTSIDE);
    expect(await settles('outside', toNodePort(0, 'local'), 'open')).toBe('open');
    // The pod's own node rewrites the source after our hook, another node before it: then the source is that node.
    expect(await connection('outside', toNodePort(0, 'cluster'))).toBe('open');
    expect(await connection('outside', toNodePort(1, 'cluster'))).toBe('closed');
  },
);
