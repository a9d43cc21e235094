import { describe, expect, test } from 'vitest';
import { nodeEvent, shopPod } from '../../test/support/scenarios/shop.ts';
import type { Address } from './address.ts';
import { addressOwners, contestedAddresses, listedByNodes, ownerOf } from './addressowners.ts';
import { type ClusterEvent, ClusterState, type Pod, type PodKey } from './cluster.ts';

const AT = '10.1.0.1' as Address;

/** Two nodes. The address is in the networks of the first one, if these are known. */
function cluster(networks: 'known' | 'unknown', ...pods: ClusterEvent[]): ClusterState {
  const state = new ClusterState();
  for (const name of ['n1', 'n2']) {
    const { value } = nodeEvent(name, []) as Extract<ClusterEvent, { type: 'node' }>;
    const podCidrs = networks === 'known' ? [`10.${name.slice(1)}.0.0/16`] : [];
    state.apply({ type: 'node', key: name, value: { ...value!, podCidrs } });
  }
  for (const pod of pods) state.apply(pod);
  return state;
}

function pod(key: PodKey, node: string, createdAt: string): ClusterEvent {
  const { value } = shopPod(key, node, [AT]) as { value: Pod };
  return { type: 'pod', key, value: { ...value, createdAt } };
}

const own = pod('shop/db', 'n1', '2026-01-01T00:00:00Z');
const claim = pod('evil/liar', 'n2', '2026-01-02T00:00:00Z');
const successor = pod('shop/later', 'n1', '2026-01-03T00:00:00Z');

describe('an address that pods of two nodes report belongs', () => {
  test.each<[string, ClusterState, string | undefined, PodKey]>([
    ['on a node to its own pod', cluster('unknown', own, claim), 'n1', 'shop/db'],
    ['on each node to its own', cluster('known', own, claim), 'n2', 'evil/liar'],
    ['elsewhere to the pod of the node that has the network', cluster('known', claim, own), 'n3', 'shop/db'],
    ['to it also where nobody is asked', cluster('known', own, claim), undefined, 'shop/db'],
    ['to the younger where no network tells', cluster('unknown', own, claim), undefined, 'evil/liar'],
    ['to the younger of the pods of one node', cluster('known', own, successor, claim), 'n1', 'shop/later'],
  ])('%s', (_, state, node, expected) => {
    expect(addressOwners(state, node).get(AT)?.key).toBe(expected);
    if (node === undefined) expect(ownerOf(state, AT)?.key).toBe(expected);
  });
});

test('contested is what pods of several nodes report, and not what one node gives out again', () => {
  const keys = (state: ClusterState) =>
    contestedAddresses(state, 'n1').map(({ address, pods }) => [address, ...pods.map(({ key }) => key)]);
  expect(keys(cluster('known', own, successor))).toEqual([]);
  expect(keys(cluster('known', claim, own))).toEqual([[AT, 'shop/db', 'evil/liar']]);
});

test('an address of a pod that a Node lists is named with both, and not what a pod on the network of its node has', () => {
  const listing = nodeEvent('n2', [AT]);
  expect(listedByNodes(cluster('known', own, listing))).toEqual([`${AT}: pod shop/db on n1, node n2`]);
  expect(listedByNodes(cluster('known', own))).toEqual([]);
  const { value } = own as { value: Pod };
  const onNode: ClusterEvent = { type: 'pod', key: value.key, value: { ...value, hostNetwork: true } };
  expect(listedByNodes(cluster('known', onNode, listing))).toEqual([]);
});

test('an internal address of two Nodes is named with both, and an external one, which they may share, is not', () => {
  const SHARED = '172.18.0.2' as Address;
  const listing = (name: string, externalIps: readonly Address[] = []): ClusterEvent => {
    const { value } = nodeEvent(name, [SHARED]) as Extract<ClusterEvent, { type: 'node' }>;
    return { type: 'node', key: name, value: { ...value!, externalIps } };
  };
  const found = (...nodes: ClusterEvent[]) => listedByNodes(cluster('known', ...nodes));
  expect(found(listing('n1'), listing('n2'))).toEqual([`${SHARED}: node n1, node n2`]);
  expect(found(listing('n1', [SHARED]), listing('n2', [SHARED]))).toEqual([]);
  expect(found(listing('n1'), listing('n2', [SHARED]))).toEqual([]);
});
