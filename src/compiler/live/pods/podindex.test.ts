/** An address that very many pods report: who owns it, and how much work it takes to find out. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tenantPod } from '../../../../test/support/agent/tenants.ts';
import { runs } from '../../../../test/support/seed.ts';
import { type Address, parseAddress } from '../../../model/address.ts';
import { addressOwners } from '../../../model/addressowners.ts';
import { ClusterState, type Node, type Pod, type PodKey } from '../../../model/cluster.ts';
import { PodIndex, type PodsBefore } from './podindex.ts';

const NODE = 'n1';
const ADDRESSES = ['10.1.0.1', '10.2.0.1'].map(text => parseAddress(text)!);
const NODES = ['n1', 'n2', 'n3'];

const node = (name: string, podCidrs: readonly string[]): Node => ({
  name,
  labels: {},
  addresses: [],
  podCidrs,
});

type Step = { readonly pod: Pod | PodKey } | { readonly node: Node };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        n: fc.integer({ min: 1, max: 6 }),
        addresses: fc.subarray(ADDRESSES),
        node: fc.constantFrom(...NODES),
        createdAt: fc.constantFrom('a', 'b'),
        finished: fc.boolean(),
      })
      .map(({ n, ...rest }) => ({ pod: tenantPod('shop', n, rest) })),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }).map((n): Step => ({ pod: `shop/p${n}` })) },
  {
    weight: 1,
    arbitrary: fc
      .record({
        name: fc.constantFrom(...NODES),
        podCidrs: fc.subarray(['10.1.0.0/16', '10.2.0.0/16']),
      })
      .map(({ name, podCidrs }) => ({ node: node(name, podCidrs) })),
  },
);

function take(step: Step, state: ClusterState, index: PodIndex): PodsBefore {
  if ('node' in step) {
    state.apply({ type: 'node', key: step.node.name, value: step.node });
    return index.updateNodes([step.node.name]);
  }
  const key = typeof step.pod === 'string' ? step.pod : step.pod.key;
  const value = typeof step.pod === 'string' ? undefined : step.pod;
  state.apply({ type: 'pod', key, ...(value !== undefined && { value }) });
  return index.update(key, value);
}

const addressesOf = (index: PodIndex, state: ClusterState) =>
  new Map([...state.pods.keys()].map(key => [key, index.indexedPod(key)?.addresses.join()]));

test('whatever pods report and nodes have, each address is its owner’s, and who gains or loses one is named', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), steps => {
      const state = new ClusterState();
      const index = new PodIndex(state, NODE);
      for (const one of steps) {
        const before = addressesOf(index, state);
        const changed = take(one, state, index);
        const owners = addressOwners(state, NODE);
        const owned = (pod: Pod) => pod.addresses.filter((address: Address) => owners.get(address) === pod);
        for (const [key, addresses] of addressesOf(index, state)) {
          const pod = state.pods.get(key)!;
          expect(addresses).toBe(pod.finished ? undefined : owned(pod).join());
          if (addresses !== before.get(key)) expect(changed.has(key)).toBe(true);
        }
      }
    }),
    { numRuns: runs(400) },
  );
});

test('one of ten thousand pods that report one address changes itself and the owner, and no other', () => {
  const state = new ClusterState();
  const index = new PodIndex(state, NODE);
  const report = (n: number, rest: Partial<Pod> = {}) => {
    const pod = tenantPod('shop', n, { addresses: [ADDRESSES[0]!], node: 'n2', createdAt: 'b', ...rest });
    return take({ pod }, state, index).size;
  };
  const sizes = Array.from({ length: 10_000 }, (_, n) => report(n));
  expect(Math.max(...sizes)).toBe(2);
  expect(report(5, { labels: { app: 'web' } })).toBe(1);
  expect(report(9_999, { labels: { app: 'web' } })).toBe(1);
  expect(report(9_999, { createdAt: 'a' })).toBe(2);
  const says = node('n2', ['10.1.0.0/16']);
  expect(take({ node: says }, state, index).size).toBe(0);
  expect(take({ pod: 'shop/p9998' }, state, index).size).toBe(2);
});

test('a pod that loses an address keeps the version of its namespace with which it was applied', () => {
  const state = new ClusterState();
  const namespace = (team: string) => ({ name: 'shop', labels: { team } });
  state.apply({ type: 'namespace', key: 'shop', value: namespace('blue') });
  const index = new PodIndex(state, NODE);
  const pod = tenantPod('shop', 1, { node: 'n2', addresses: ADDRESSES });
  index.update(pod.key, pod);
  state.apply({ type: 'namespace', key: 'shop', value: namespace('red') });
  const younger = tenantPod('other', 2, { node: 'n2', addresses: [ADDRESSES[0]!], createdAt: 'z' });
  index.update(younger.key, younger);
  const { addresses, namespace: around } = index.indexedPod(pod.key)!;
  expect([addresses, around]).toEqual([[ADDRESSES[1]], namespace('blue')]);
});

test('pods of a relabelled namespace are selected by the labels with which each was applied', () => {
  const state = new ClusterState();
  const index = new PodIndex(state, NODE);
  const pods = [1, 2, 3].map(n =>
    tenantPod('shop', n, { node: n === 3 ? NODE : 'n2', labels: { app: 'web' } }),
  );
  const namespace = (team: string) => ({ name: 'shop', labels: { team } });
  for (const pod of pods) index.update(pod.key, pod, namespace('blue'));
  const selected = (team: string, apps: readonly string[]) => {
    const requirement = (key: string, values: readonly string[]) => ({
      key,
      operator: 'In' as const,
      values,
    });
    const namespaces = { kind: 'labels', selector: { requirements: [requirement('team', [team])] } } as const;
    return [...index.select({ namespaces, pods: { requirements: [requirement('app', apps)] } })];
  };
  const keys = (team: string) => selected(team, ['web']).map(({ pod }) => pod.key);
  for (const moved of [pods[1]!, pods[2]!]) {
    const before = index.indexedPod(moved.key)!;
    expect(index.update(moved.key, moved, namespace('red'))).toEqual(new Map([[moved.key, before]]));
    expect(index.indexedPod(moved.key)).toEqual({ ...before, namespace: namespace('red') });
  }
  expect([keys('blue'), keys('red')]).toEqual([['shop/p1'], ['shop/p2', 'shop/p3']]);
  expect([...index.local()]).toEqual([index.indexedPod('shop/p3')]);
  expect([...index.inOther(namespace('red'))]).toEqual([index.indexedPod('shop/p1')]);
  index.update('shop/p2', undefined);
  expect([keys('red'), selected('red', ['other'])]).toEqual([['shop/p3'], []]);
});
