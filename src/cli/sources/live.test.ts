/** The API server as an end of questions about a live cluster, which says where it is. */
import { expect, test } from 'vitest';
import { AskedApi } from '../../../test/support/api/askedapi.ts';
import { answer } from '../../answers/questions/answer.ts';
import { matrixViewOf } from '../../answers/reach/view.ts';
import { readApi } from './live.ts';
import { clusterViewOf, scopeOf } from './state.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'op', namespace: 'shop', labels: { app: 'op' } },
  spec: { nodeName: 'n1', containers: [] },
  status: { phase: 'Running', podIPs: [{ ip: '10.244.0.5' }] },
};
const policy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'op', namespace: 'shop' },
  spec: {
    podSelector: {},
    policyTypes: ['Egress'],
    egress: [{ to: [{ ipBlock: { cidr: '172.18.0.2/32' } }], ports: [{ port: 6443 }] }],
  },
};
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
};
const slice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'kubernetes',
    namespace: 'default',
    labels: { 'kubernetes.io/service-name': 'kubernetes' },
  },
  addressType: 'IPv4',
  ports: [{ name: 'https', port: 6443 }],
  endpoints: [{ addresses: ['172.18.0.2'] }],
};

async function stateOf(...forbidden: readonly string[]) {
  const api = new AskedApi([pod, policy, service, slice], forbidden);
  const read = await readApi(api, { workloads: true, services: true, namespaces: ['default', 'shop'] });
  return { ...read, isLive: true as const, source: 'the cluster', scope: scopeOf({ namespace: 'shop' }) };
}

const asked = { from: 'op', to: 'svc/kubernetes.default:443' };

test('explain and matrix know the API server of a cluster by its EndpointSlice', async () => {
  const state = await stateOf();
  const { verdict, cases } = answer(clusterViewOf(state, {}), asked);
  expect([verdict, cases.map(({ flow }) => `${flow.to}:${flow.port}`)]).toEqual([
    'allow',
    ['172.18.0.2:6443'],
  ]);
  const { ends } = matrixViewOf(state, 'allow');
  expect(ends.map(({ members }) => members)).toContainEqual(['172.18.0.2/32', 'svc/kubernetes.default']);
});

test.each([[['endpointslices']], [['services', 'endpointslices']]])(
  'without the right to list %j it is undecided, until the caller says where the API server is',
  async forbidden => {
    const state = await stateOf(...forbidden);
    const { verdict, reason } = answer(clusterViewOf(state, {}), asked);
    expect([verdict, reason]).toEqual([
      'undecided',
      'the endpoints of the API server are not known: its EndpointSlice was not read (--api-server names them): policy may allow some and deny others',
    ]);
    const told = clusterViewOf(state, { apiServer: ['172.18.0.2:6443'] });
    expect(answer(told, asked).verdict).toBe('allow');
  },
);
