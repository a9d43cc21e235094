import { expect, test } from 'vitest';
import { problemText } from '../../../model/problem.ts';
import { decodeInventory } from './inventory.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ ports: [{ name: 'http', containerPort: 8080 }] }] },
};
const metadata = { name: 'web', namespace: 'shop' };
const ports = [{ name: 'http', protocol: 'TCP', port: 8080 }];
const common = { namespace: 'shop', name: 'web', labels: { app: 'web' }, ports, hostNetwork: false };

test.each([
  ['Deployment', 'apps/v1', { template }, { replicas: 1 }],
  ['Deployment', 'apps/v1', { replicas: 0, template }, { replicas: 0 }],
  ['StatefulSet', 'apps/v1', { replicas: 3, template }, { replicas: 3 }],
  ['DaemonSet', 'apps/v1', { template }, {}],
  ['ReplicaSet', 'apps/v1', { template }, { replicas: 1 }],
  ['ReplicationController', 'v1', { template }, { replicas: 1 }],
  ['CronJob', 'batch/v1', { jobTemplate: { spec: { template } } }, {}],
])('decodeInventory() reads a %s of %s by its template', (kind, apiVersion, spec, expected) => {
  const { item, problems } = decodeInventory({ apiVersion, kind, metadata, spec });
  expect(item).toEqual({
    type: 'workload',
    value: { ...common, id: `${kind} shop/web`, kind, ...expected },
  });
  expect(problems).toEqual([]);
});

test.each([
  [{ matchLabels: { app: 'web' } }, [{ key: 'app', operator: 'In', values: ['web'] }]],
  [
    { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
    [{ key: 'tier', operator: 'Exists', values: [] }],
  ],
  // Of a ReplicationController or a DeploymentConfig.
  [{ app: 'web' }, [{ key: 'app', operator: 'In', values: ['web'] }]],
  [{ matchExpressions: [{ key: 'tier', operator: 'Never' }] }, undefined],
  [{ matchLabels: { app: 1 } }, undefined],
  [undefined, undefined],
])('decodeInventory() reads the selector %j of a workload, or leaves it out', (selector, requirements) => {
  const spec = { template, ...(selector && { selector }) };
  const { item, problems } = decodeInventory({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec });
  expect(item).toMatchObject({ value: common });
  expect((item as { value: { selector?: object } }).value.selector).toEqual(requirements && { requirements });
  expect(problems).toEqual([]);
});

test('decodeInventory() gives the pods of a Job the labels that every Job gives them', () => {
  const { item } = decodeInventory({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } });
  expect(item).toMatchObject({
    value: { labels: { app: 'web', 'job-name': 'web', 'batch.kubernetes.io/job-name': 'web' } },
  });
});

test('decodeInventory() reads who controls a pod, and no other owner', () => {
  const ownerReferences = [
    { kind: 'ConfigMap', name: 'x' },
    { kind: 'ReplicaSet', name: 'web-1', controller: true },
  ];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, ownerReferences } };
  expect(decodeInventory(pod).item).toEqual({
    type: 'pod',
    pod: 'shop/web',
    owner: { kind: 'ReplicaSet', name: 'web-1' },
    hostPorts: [],
  });
  expect(decodeInventory({ ...pod, metadata }).item).toBeUndefined();
});

test('decodeInventory() reads the ports of its node that a pod has, and of the host none', () => {
  const ports = [
    { containerPort: 8080, hostPort: 80 },
    { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '172.18.0.1' },
    { containerPort: 53, hostPort: 54, hostIP: '0.0.0.0' },
    { containerPort: 8081 },
    { containerPort: 8082, hostPort: '82' },
  ];
  const pod = (more: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { containers: [{ ports }], ...more },
  });
  expect(decodeInventory(pod({})).item).toEqual({
    type: 'pod',
    pod: 'shop/web',
    hostPorts: [
      { protocol: 'TCP', hostPort: 80, port: 8080 },
      { protocol: 'UDP', hostPort: 53, port: 53, hostIp: '172.18.0.1' },
      { protocol: 'TCP', hostPort: 54, port: 53 },
    ],
    unnamedPorts: [
      { protocol: 'TCP', port: 8080 },
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
      { protocol: 'TCP', port: 8081 },
      { protocol: 'TCP', port: 8082 },
    ],
  });
  expect(decodeInventory(pod({ hostNetwork: true })).item).toBeUndefined();
});

const service = (spec: object, rest: object = {}) =>
  decodeInventory({ apiVersion: 'v1', kind: 'Service', metadata, spec, ...rest }).item;

test('decodeInventory() reads Services of every type', () => {
  const spec = {
    clusterIPs: ['10.96.0.1', 'fd00::1'],
    selector: { app: 'web' },
    ports: [
      { port: 80, targetPort: 'http', nodePort: 30080 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  };
  expect(service({ ...spec, type: 'NodePort' })).toMatchObject({
    value: {
      key: 'shop/web',
      type: 'NodePort',
      clusterIps: ['10.96.0.1', 'fd00::1'],
      headless: false,
      selector: { app: 'web' },
      ports: [
        { name: '', protocol: 'TCP', port: 80, target: 'http', nodePort: 30080 },
        { name: 'dns', protocol: 'UDP', port: 53, target: 53 },
      ],
    },
  });
  expect(service({ clusterIP: 'None', ports: [] })).toMatchObject({
    value: { headless: true, clusterIps: [] },
  });
  expect(service({ type: 'ExternalName', externalName: 'db.example.com' })).toMatchObject({
    value: { type: 'ExternalName', externalName: 'db.example.com' },
  });
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }, { hostname: 'x' }] } };
  expect(service({ type: 'LoadBalancer', externalIPs: ['192.0.2.8'] }, { status })).toMatchObject({
    value: { externalIps: ['192.0.2.8', '192.0.2.7'] },
  });
  const modes = {
    loadBalancer: {
      ingress: [
        { ip: '192.0.2.7', ipMode: 'Proxy' },
        { ip: '192.0.2.9', ipMode: 'VIP' },
      ],
    },
  };
  const found = service(
    { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' },
    { status: modes },
  );
  expect(found).toMatchObject({
    value: { externalIps: ['192.0.2.9'], proxiedIps: ['192.0.2.7'], isNodeLocal: true, keepsSource: true },
  });
});

test('decodeInventory() reads an EndpointSlice', () => {
  const { item } = decodeInventory({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-x', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [
      { addresses: ['10.0.0.1'], nodeName: 'n1', targetRef: { kind: 'Pod', name: 'web-1' } },
      { addresses: ['10.0.0.2'], conditions: { ready: false } },
    ],
  });
  expect(item).toEqual({
    type: 'slice',
    value: {
      key: 'shop/web-x',
      service: 'shop/web',
      family: 'ip',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: [
        { addresses: ['10.0.0.1'], ready: true, pod: 'shop/web-1', node: 'n1' },
        { addresses: ['10.0.0.2'], ready: false },
      ],
    },
  });
});

test('decodeInventory() says what is wrong, and what the answers lack', () => {
  const { item, problems } = decodeInventory({
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { clusterIP: 'none', ports: [{ port: 'http' }] },
  });
  expect(item).toMatchObject({ value: { clusterIps: [], ports: [] } });
  expect(problems.map(problemText)).toEqual([
    'Service shop/web: spec.clusterIP "none" is not an IP address; answers leave it out',
    'Service shop/web: spec.ports[0].port must be a number from 1 to 65535, not "http"; answers leave it out',
  ]);
});

test.each([
  null,
  7,
  [],
  {},
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'v1', kind: 'Secret' },
])('decodeInventory() makes nothing of %j', object => expect(decodeInventory(object).item).toBeUndefined());
