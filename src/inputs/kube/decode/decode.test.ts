import { describe, expect, test } from 'vitest';
import type { Node } from '../../../model/cluster.ts';
import { problemText } from '../../../model/problem.ts';
import { decodeObject } from './decode.ts';

describe('decodeObject() of a Pod', () => {
  test('takes what policy depends on, and reads past the rest', () => {
    const { event, problems } = decodeObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web-0',
        namespace: 'shop',
        labels: { app: 'web', empty: null },
        creationTimestamp: '2026-01-01T00:00:00Z',
        deletionTimestamp: '2026-01-02T00:00:00Z', // N48: still there
        managedFields: [{ fieldsV1: { 'f:metadata': {} } }],
      },
      spec: {
        nodeName: 'n1',
        containers: [
          { name: 'c', ports: [{ name: 'http', containerPort: 8080 }, { containerPort: 9 }] },
          { name: 'd', ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }] },
          { name: 'e' },
        ],
        initContainers: [
          { name: 'once', ports: [{ name: 'setup', containerPort: 1 }] },
          { name: 'sidecar', restartPolicy: 'Always', ports: [{ name: 'proxy', containerPort: 15001 }] },
        ],
        nobodyReadsThis: true,
      },
      status: { phase: 'Running', podIP: '10.0.0.9', podIPs: [{ ip: '10.0.0.1' }, { ip: 'FD00::1' }] },
    });
    expect(problems).toEqual([]);
    expect(event).toEqual({
      type: 'pod',
      key: 'shop/web-0',
      value: {
        key: 'shop/web-0',
        namespace: 'shop',
        name: 'web-0',
        labels: { app: 'web', empty: '' },
        node: 'n1',
        addresses: ['10.0.0.1', 'fd00::1'], // N51
        hostNetwork: false,
        finished: false,
        createdAt: '2026-01-01T00:00:00Z',
        ports: [
          { name: 'http', protocol: 'TCP', port: 8080 },
          { name: 'dns', protocol: 'UDP', port: 53 },
          { name: 'proxy', protocol: 'TCP', port: 15001 }, // 4.14
        ],
      },
    });
  });

  test.each<[string, object, object]>([
    [
      'a pod of nothing but a name',
      {},
      { namespace: 'default', node: '', addresses: [], finished: false, ports: [] },
    ],
    ['N51: podIP where podIPs is absent', { status: { podIP: '10.0.0.1' } }, { addresses: ['10.0.0.1'] }],
    ['N50: an address that is not there yet', { status: { podIP: '', podIPs: [] } }, { addresses: [] }],
    ['N47: a pod that succeeded', { status: { phase: 'Succeeded' } }, { finished: true }],
    ['N47: a pod that failed', { status: { phase: 'Failed' } }, { finished: true }],
    ['N48: a pod whose phase is unknown', { status: { phase: 'Unknown' } }, { finished: false }],
    ['N45: a pod in its node’s network', { spec: { hostNetwork: true } }, { hostNetwork: true }],
    [
      'an address that comes twice',
      { status: { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }] } },
      { addresses: ['10.0.0.1'] },
    ],
  ])('%s', (_, object, expected) => {
    const decoded = decodeObject({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, ...object });
    expect(decoded.problems).toEqual([]);
    expect(decoded.event!.value).toMatchObject(expected);
  });

  test.each<[string, object, string, object | undefined]>([
    [
      'an address that is none',
      { status: { podIPs: [{ ip: '10.0.0.256' }, { ip: '10.0.0.1' }] } },
      'status.podIPs[0].ip "10.0.0.256" is not an IP address; the pod does not have this address',
      { addresses: ['10.0.0.1'] },
    ],
    [
      'a port that is none',
      {
        spec: {
          containers: [
            {
              ports: [
                { name: 'a', containerPort: 0 },
                { name: 'b', containerPort: 1 },
              ],
            },
          ],
        },
      },
      'spec.containers[0].ports[0].containerPort must be a number from 1 to 65535, not 0; no policy matches the port by its name',
      { ports: [{ name: 'b', protocol: 'TCP', port: 1 }] },
    ],
    [
      'labels that are no text',
      { metadata: { name: 'p', labels: { version: 2 } } },
      'metadata.labels.version must be text, not 2: put it in quotes; its labels are not known: no rule',
      { labels: {}, partial: true },
    ],
    [
      'labels that are very many',
      { metadata: { name: 'p', labels: many(501) } },
      'metadata.labels has 501 labels, and 500 are the most; its labels are not known: no rule',
      { labels: {}, partial: true },
    ],
    [
      'labels that are too large to be read',
      { metadata: { name: 'p', labels: 'too large to be read' } },
      'metadata.labels must be a map, not "too large to be read"; its labels are not known',
      { labels: {}, partial: true },
    ],
    [
      'addresses that are very many',
      { status: { podIPs: FEW_ADDRESSES.map(ip => ({ ip })).concat({ ip: '10.0.1.1' }) } },
      'status.podIPs has 65 entries, and 64 are the most; the pod has the first 64',
      { addresses: FEW_ADDRESSES },
    ],
    [
      'named ports that are very many',
      {
        spec: {
          containers: [{ ports: Object.keys(many(501)).map(name => ({ name, containerPort: 80 })) }],
        },
      },
      'spec.containers have 501 named ports, and 500 are the most; no named port matches here',
      { ports: [] },
    ],
    [
      'hostNetwork that is no boolean',
      { spec: { hostNetwork: 'yes' } },
      'spec.hostNetwork must be true or false, not "yes"; the pod stays as it was last known',
      undefined,
    ],
    ['no name', { metadata: {} }, 'Pod default/(no name): metadata.name is missing', undefined],
  ])('%s is reported', (_, object, problem, expected) => {
    const decoded = decodeObject({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, ...object });
    expect(decoded.problems.map(problemText)).toEqual([expect.stringContaining(problem)]);
    if (expected === undefined) expect(decoded.event).toBeUndefined();
    else expect(decoded.event!.value).toMatchObject(expected);
  });

  test('labels called like members of every object are labels', () => {
    const labels = JSON.parse('{"__proto__": "a", "constructor": "b"}');
    const { event } = decodeObject({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels } });
    expect(Object.entries((event!.value as { labels: object }).labels)).toEqual(Object.entries(labels));
  });
});

test('decodeObject() of a Namespace whose labels cannot be read knows its name (N54, N68)', () => {
  for (const labels of [['a'], { a: 1 }, many(501)]) {
    const metadata = { name: 'shop', labels };
    const { event, problems } = decodeObject({ apiVersion: 'v1', kind: 'Namespace', metadata });
    expect(problems).toHaveLength(1);
    const known = { 'kubernetes.io/metadata.name': 'shop' };
    expect(event!.value).toEqual({ name: 'shop', labels: known, partial: true });
  }
});

test('decodeObject() of a Namespace adds the label of its name, whatever the manifest says (N5, N54)', () => {
  const metadata = { name: 'shop', labels: { team: 'a', 'kubernetes.io/metadata.name': 'other' } };
  const { event, problems } = decodeObject({ apiVersion: 'v1', kind: 'Namespace', metadata });
  expect(problems).toEqual([]);
  const labels = { team: 'a', 'kubernetes.io/metadata.name': 'shop' };
  expect(event).toEqual({ type: 'namespace', key: 'shop', value: { name: 'shop', labels } });
});

test('decodeObject() of a Node takes every address that is an IP, and the networks of its pods (4.22)', () => {
  const { event, problems } = decodeObject({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', labels: { zone: 'a' } },
    spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00:10::/64'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'InternalIP', address: '2001:db8::1' },
        { type: 'ExternalIP', address: '203.0.113.1' },
        { type: 'Hostname', address: 'n1' },
      ],
    },
  });
  expect(problems).toEqual([]);
  expect(event!.value).toEqual({
    name: 'n1',
    labels: { zone: 'a' },
    addresses: ['192.0.2.1', '2001:db8::1', '203.0.113.1'],
    externalIps: ['203.0.113.1'],
    podCidrs: ['10.244.1.0/24', 'fd00:10::/64'],
  });
});

test('decodeObject() of a Node takes 64 addresses, and says that there were more', () => {
  const addresses = Array.from({ length: 100 }, (_, i) => ({ type: 'InternalIP', address: `10.0.0.${i}` }));
  const { event, problems } = decodeObject({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1' },
    status: { addresses },
  });
  expect((event!.value as Node).addresses).toHaveLength(64);
  expect(problems.map(problemText)).toEqual([
    'Node n1: status.addresses has 100 entries, and 64 are the most; the node has the first 64',
  ]);
});

describe('decodeObject()', () => {
  test.each(['apps/v1 Deployment', 'v1 Service', 'v1 ConfigMap', 'projectcalico.org/v3 NetworkPolicy'])(
    'has nothing to say about %s',
    type => {
      const [apiVersion, kind] = type.split(' ');
      expect(decodeObject({ apiVersion, kind, metadata: {} })).toEqual({ kind, problems: [] });
    },
  );

  test.each([null, 7, 'text', [], {}, { kind: 'Pod' }, { apiVersion: 'v1' }, { apiVersion: 1, kind: 2 }])(
    'says that %j is no Kubernetes object',
    value => {
      const { event, problems } = decodeObject(value);
      expect(event).toBeUndefined();
      expect(problems.map(problemText)).toEqual([
        'holds something that is no Kubernetes object: it needs an apiVersion and a kind; it is ignored',
      ]);
    },
  );

  test.each(['networking.k8s.io/v1beta1', 'extensions/v1beta1', 'policy.networking.k8s.io/v1alpha3', 'v1'])(
    'says that %s is a version of a policy that it does not read',
    apiVersion => {
      const kind = apiVersion.startsWith('policy') ? 'ClusterNetworkPolicy' : 'NetworkPolicy';
      const { event, problems } = decodeObject({ apiVersion, kind, metadata: { name: 'a' } });
      expect(event).toBeUndefined();
      expect(problems.map(problemText)).toEqual([
        expect.stringMatching(
          /apiVersion ".*" is not one that can be read \(.*v1.*\); the policy is not applied/,
        ),
      ]);
    },
  );

  test('never lets a name break a line of its messages', () => {
    const { problems } = decodeObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a\nb\u001b[31m' },
    });
    expect(problemText(problems[0]!)).toMatch(/^Pod default\/a\\nb\\u001b\[31m: metadata\.name "a\\nb/);
  });
});

const FEW_ADDRESSES = Array.from({ length: 64 }, (_, i) => `10.0.0.${i}`);

function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
}

test('a misspelt kind is told by the one that is near', () => {
  const { problems } = decodeObject({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Networkpolicy',
    metadata: { name: 'x', namespace: 'y' },
  });
  expect(problems[0]?.message).toBe(
    '"Networkpolicy" is no kind of networking.k8s.io/v1 that can be read (did you mean NetworkPolicy?)',
  );
});
