import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../model/cluster.ts';
import { problemText } from '../../../model/problem.ts';
import { decodeDelivered, decodeObject } from './decode.ts';

const POLICY = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' };
const POD = { apiVersion: 'v1', kind: 'Pod' };
const CLUSTER_POLICY = { apiVersion: 'policy.networking.k8s.io/v1beta1', kind: 'ClusterNetworkPolicy' };
const metadata = { name: 'web', namespace: 'shop' };
const spec = { podSelector: {}, ingress: [{}] };

const texts = (object: unknown, type: typeof POLICY) =>
  decodeDelivered(object, type).problems.map(problemText);

test('decodeDelivered() reads an object of the type that was asked for as decodeObject() does', () => {
  expect(decodeDelivered({ ...POLICY, metadata, spec }, POLICY)).toEqual(
    decodeObject({ ...POLICY, metadata, spec }),
  );
});

test('it reads another version as the one that it is told to', () => {
  const object = { ...CLUSTER_POLICY, metadata: { name: 'a' }, spec: { tier: 'Admin', priority: 1 } };
  const apiVersion = 'policy.networking.k8s.io/v2';
  const type = { ...CLUSTER_POLICY, apiVersion, readAs: CLUSTER_POLICY.apiVersion };
  expect(decodeDelivered({ ...object, apiVersion }, type)).toEqual(decodeObject(object));
});

test('a pod has its uid where all have it, and on the node whose pods have theirs', () => {
  const object = { ...POD, metadata: { ...metadata, uid: '6c2b' }, spec: { nodeName: 'n1' } };
  const uidIn = (type: Parameters<typeof decodeDelivered>[1]) =>
    decodeDelivered(object, type).event?.value as { readonly uid?: string } | undefined;
  expect(uidIn(POD)?.uid).toBe('6c2b');
  expect(uidIn({ ...POD, uidsOn: 'n1' })?.uid).toBe('6c2b');
  expect(uidIn({ ...POD, uidsOn: 'n2' })?.uid).toBeUndefined();
});

test('pods that follow each other share equal labels, ports and times', () => {
  const read = (name: string, app: string) => {
    const spec = { containers: [{ ports: [{ name: 'web', containerPort: 80 }] }] };
    const object = { ...POD, metadata: { ...metadata, name, labels: { app } }, spec };
    return decodeDelivered(object, POD).event!.value as Pod;
  };
  const [first, second, other] = [read('first', 'shop'), read('second', 'shop'), read('other', 'db')];
  expect(second.labels).toBe(first.labels);
  expect(second.ports).toBe(first.ports);
  expect(other.labels).toEqual({ app: 'db' });
});

const ISOLATES =
  'until it is fixed, the policy isolates every pod of its namespace in both directions, and allows them nothing';

describe('a NetworkPolicy', () => {
  test.each([
    ['of another kind', { ...POD, metadata }, 'kind is "Pod", and NetworkPolicy was asked for'],
    ['of no kind', { apiVersion: POLICY.apiVersion, metadata, spec }, 'kind is'],
    [
      'of another group',
      { ...POLICY, apiVersion: 'crd.projectcalico.org/v1', metadata, spec },
      'apiVersion is "crd.projectcalico.org/v1", and networking.k8s.io/v1 was asked for',
    ],
    ['without a spec', { ...POLICY, metadata }, 'spec is missing'],
    ['whose spec is null', { ...POLICY, metadata, spec: null }, 'spec is missing'],
    ['whose spec is no map', { ...POLICY, metadata, spec: [] }, 'spec must be a map, not a list'],
  ])('%s isolates its namespace', (_, object, problem) => {
    expect(texts(object, POLICY)).toEqual([expect.stringContaining(`NetworkPolicy shop/web: ${problem}`)]);
    const { event, problems } = decodeDelivered(object, POLICY);
    expect(problems[0]!.effect).toBe(ISOLATES);
    expect(event).toEqual({
      type: 'policy',
      key: 'NetworkPolicy shop/web',
      value: {
        id: 'NetworkPolicy shop/web',
        kind: 'NetworkPolicy',
        name: 'shop/web',
        order: 0,
        tier: 'networkpolicy',
        subject: {
          namespaces: { kind: 'name', name: 'shop' },
          pods: { requirements: [], unreadable: true },
        },
        ingress: [],
        egress: [],
      },
    });
  });
});

test.each([
  ['a pod of another kind', POD, { ...POLICY, metadata, spec }, 'Pod shop/web: kind is "NetworkPolicy"'],
  ['a pod without a spec', POD, { ...POD, metadata }, 'Pod shop/web: spec is missing'],
  [
    'a cluster policy of another kind',
    CLUSTER_POLICY,
    { ...POLICY, metadata: { name: 'platform' }, spec },
    'ClusterNetworkPolicy platform: kind is "NetworkPolicy"',
  ],
  [
    'a node of another group',
    { apiVersion: 'v1', kind: 'Node' },
    { apiVersion: 'metrics.k8s.io/v1', kind: 'Node', metadata: { name: 'n' } },
    'Node n: apiVersion is "metrics.k8s.io/v1"',
  ],
])('%s stays as it was last known', (_, type, object, problem) => {
  expect(decodeDelivered(object, type).event).toBeUndefined();
  const [text, ...others] = texts(object, type);
  expect(others).toEqual([]);
  expect(text).toContain(problem);
  expect(text).toMatch(/; the object stays as it was last known$/);
});
