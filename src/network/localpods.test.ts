import { expect, test } from 'vitest';
import { type Address, parseAddress } from '../model/address.ts';
import type { ClusterEvent, Pod, PodKey } from '../model/cluster.ts';
import { LocalPods } from './localpods.ts';

const at = (...texts: string[]): Address[] => texts.map(text => parseAddress(text)!);
const KEY: PodKey = 'shop/web';
const pod = (addresses: Address[], more: Partial<Pod> = {}): Pod => ({
  key: KEY,
  namespace: 'shop',
  name: 'web',
  labels: { app: 'web' },
  node: 'here',
  addresses,
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
  ...more,
});
const told = (value: Pod): ClusterEvent => ({ type: 'pod', key: value.key, value });
const addressesOf = (events: readonly ClusterEvent[]) =>
  events.map(event => (event.type === 'pod' ? (event.value?.addresses ?? 'gone') : 'other'));

test('a pod has the addresses that it was attached with, whichever of the two was told first', () => {
  const first = new LocalPods('here');
  first.attach({ key: KEY, addresses: at('10.0.0.1') });
  expect(addressesOf(first.merge([told(pod([]))]))).toEqual([['10.0.0.1']]);
  const second = new LocalPods('here');
  second.merge([told(pod(at('10.0.0.9')))]);
  expect(addressesOf(second.attach({ key: KEY, addresses: at('10.0.0.1') }))).toEqual([['10.0.0.1']]);
});

test('a pod that only the runtime tells of has its labels, or is nothing to policy', () => {
  const local = new LocalPods('here');
  expect(addressesOf(local.attach({ key: KEY, addresses: at('10.0.0.1') }))).toEqual(['gone']);
  expect(local.knows(KEY)).toBe(false);
  const [event] = local.attach({ key: KEY, addresses: at('10.0.0.1'), labels: { app: 'x' } });
  expect(event).toMatchObject({ value: { name: 'web', labels: { app: 'x' }, addresses: ['10.0.0.1'] } });
  expect(local.knows(KEY)).toBe(true);
  expect([...local.living()]).toEqual([]);
});

test('what was taken from a pod is not its own, although the API still says so', () => {
  const local = new LocalPods('here');
  local.merge([told(pod(at('10.0.0.1', 'fd00::1')))]);
  local.attach({ key: KEY, addresses: at('10.0.0.1') });
  expect(addressesOf(local.detach(KEY, at('10.0.0.1')))).toEqual([['fd00::1']]);
  expect(addressesOf(local.merge([told(pod(at('10.0.0.1')))]))).toEqual([[]]);
});

test('the end of an older sandbox leaves the younger its addresses', () => {
  const local = new LocalPods('here');
  local.merge([told(pod([]))]);
  local.attach({ key: KEY, addresses: at('10.0.0.1') });
  local.attach({ key: KEY, addresses: at('10.0.0.2') });
  expect(local.detach(KEY, at('10.0.0.1'))).toEqual([]);
});

test('pods of other nodes and of the host network pass as they are', () => {
  const local = new LocalPods('here');
  const events = [
    told(pod(at('10.0.1.1'), { node: 'there' })),
    told(pod(at('192.168.0.1'), { key: 'kube-system/agent', hostNetwork: true })),
  ];
  expect(local.merge(events)).toEqual(events);
  expect([...local.living()]).toEqual([]);
});

test('a pod that finished has what the source says', () => {
  const local = new LocalPods('here');
  local.attach({ key: KEY, addresses: at('10.0.0.1') });
  expect(addressesOf(local.merge([told(pod([], { finished: true }))]))).toEqual([[]]);
});
