import { expect, test } from 'vitest';
import { AskedApi } from '../../../test/support/api/askedapi.ts';
import { lackText } from './lack.ts';
import { type ListedKinds, listOnce } from './listonce.ts';

const metadata = { name: 'web', namespace: 'shop' };
const OBJECTS = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      annotations: { large: 'x' },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'web-1', controller: true }],
    },
  },
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'visitor', namespace: 'guest' } },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector: {} } },
  {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'platform' },
    spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} } },
  },
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: {} } },
  { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1' } },
];

const ALL: ListedKinds = { workloads: true, services: true, namespaces: ['shop'] };
const read = (api: AskedApi, wanted = ALL) => listOnce(api, wanted, () => {}, new AbortController().signal);

test('listOnce() reads what policy sees, and what people name it by', async () => {
  const { events, items, problems, lacks } = await read(new AskedApi(OBJECTS));
  expect(events.map(({ key }) => key).sort()).toEqual([
    'ClusterNetworkPolicy platform',
    'NetworkPolicy shop/web',
    'guest/visitor',
    'n1',
    'shop',
    'shop/web',
  ]);
  expect(items.map(({ type }) => type).sort()).toEqual(['podOwner', 'service', 'workload']);
  expect([problems, lacks]).toEqual([[], []]);
});

test('listOnce() asks for no more than is wanted', async () => {
  const api = new AskedApi(OBJECTS, ['deployments', 'services']);
  const { lacks } = await read(api, { workloads: false, services: false, namespaces: [] });
  expect(lacks).toEqual([]);
  expect(api.asked.filter(path => /deployments|services/.test(path))).toEqual([]);
});

test.each([
  ['pods', false, /the others are not known: their addresses are judged as those of no pod$/],
  ['namespaces', false, /a rule that selects namespaces by label allows nothing, and may deny$/],
  ['nodes', false, /rules about nodes match nothing$/],
  ['networkpolicies', true, /what follows is no verdict$/],
  ['clusternetworkpolicies', true, /what follows is no verdict$/],
  ['adminnetworkpolicies', true, /what follows is no verdict$/],
  ['deployments', false, /cannot be asked about by name/],
  ['statefulsets', false, /cannot be asked about by name/],
  ['daemonsets', false, /cannot be asked about by name/],
  ['replicasets', false, /cannot be asked about by name/],
  ['replicationcontrollers', false, /cannot be asked about by name/],
  ['jobs', false, /cannot be asked about by name/],
  ['cronjobs', false, /cannot be asked about by name/],
  ['services', false, /an address may be that of a Service, which nobody could follow$/],
  ['endpointslices', false, /a Service's endpoints are taken from its selector$/],
])(
  'listOnce() without the right to list %s reads all else, and says what it lacks',
  async (plural, hides, effect) => {
    const { events, items, lacks } = await read(new AskedApi(OBJECTS, [plural]));
    const whole = await read(new AskedApi(OBJECTS));
    expect(events.length + items.length).toBeLessThanOrEqual(whole.events.length + whole.items.length);
    expect(lacks).toEqual([expect.objectContaining({ resource: plural, hidesPolicies: hides })]);
    expect(lackText(lacks[0]!)).toMatch(new RegExp(`^you may not list ${plural} \\(User "eve" cannot list`));
    expect(lackText(lacks[0]!)).toMatch(effect);
  },
);

test('listOnce() falls back to the namespaces that the question is about', async () => {
  const { events, lacks } = await read(new AskedApi(OBJECTS, ['pods'], ['shop']));
  expect(events.filter(({ type }) => type === 'pod').map(({ key }) => key)).toEqual(['shop/web']);
  expect(lackText(lacks[0]!)).toMatch(/^you may not list pods, but in shop \(/);
});
