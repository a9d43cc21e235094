/** Which parts of the view are recomputed after which events. */
import { expect, test, vi } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import type { Address } from '../../model/address.ts';
import { type ClusterEvent, ClusterState, type Pod } from '../../model/cluster.ts';
import { ModelView } from './modelview.ts';

const CLOSED = { podSelector: {}, policyTypes: ['Ingress'] };

test('policies are looked up anew after one has changed, and not because pods come and go', () => {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  const apply = (event: ClusterEvent) => {
    view.apply(event);
    state.apply(event);
  };
  apply(nodeEvent('n1', ['172.18.0.1']));
  apply(shopPod('shop/db', 'n1', ['10.1.0.1']));
  apply(shopPolicy('closed', CLOSED));
  const found = () => view.policiesOn(state.pods.get('shop/db')!, 'ingress', 'networkpolicy');
  const first = found();
  expect(first).toHaveLength(1);
  apply(shopPod('shop/web', 'n1', ['10.1.0.2']));
  apply({ type: 'pod', key: 'shop/web' });
  apply({ type: 'hostPort', key: 'none' });
  expect(found()).toBe(first);
  apply(shopPolicy('closed-too', CLOSED));
  expect(found()).toHaveLength(2);
});

test('a pod that is gone names its address for a minute, and not once another has it', () => {
  const state = new ClusterState();
  let nowMs = 0;
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => nowMs });
  const address = '10.1.0.1' as Address;
  const apply = (event: ClusterEvent) => {
    view.apply(event);
    state.apply(event);
  };
  const former = () => view.formerOwnerOf(address)?.pod.key;
  apply(shopPod('shop/db', 'n1', [address]));
  expect(former()).toBeUndefined();
  apply({ type: 'pod', key: 'shop/db' });
  nowMs = 60_000;
  expect(former()).toBe('shop/db');
  nowMs = 60_001;
  expect(former()).toBeUndefined();
  nowMs = 1_000;
  apply(shopPod('shop/web', 'n1', [address]));
  expect(former()).toBeUndefined();
});

test('a policy that changes costs no look at all others, and counts at once', () => {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  const happens = (event: ClusterEvent) => {
    view.apply(event);
    state.apply(event);
    view.flushed();
  };
  const web = shopPod('shop/web', 'n1', ['10.0.0.1']);
  const named = () => view.policiesOn(web.value as Pod, 'ingress', 'networkpolicy').map(({ name }) => name);
  const isolating = { podSelector: {}, policyTypes: ['Ingress'] };
  happens(web);
  happens(shopPolicy('a', isolating));
  expect(named()).toEqual(['shop/a']);
  const looks = [vi.spyOn(state.policies, 'values'), vi.spyOn(state.nodes, 'values')];
  happens(shopPolicy('b', isolating));
  expect(named()).toEqual(['shop/a', 'shop/b']);
  happens(shopPolicy('a', { ...isolating, podSelector: { matchLabels: { app: 'db' } } }));
  expect(named()).toEqual(['shop/b']);
  happens({ type: 'policy', key: 'NetworkPolicy shop/b' });
  expect(named()).toEqual([]);
  for (const look of looks) expect(look).not.toHaveBeenCalled();
});

test('a policy that a flush has refused is read anew, though no event says so', () => {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  const web = shopPod('shop/web', 'n1', ['10.0.0.1']);
  const named = () => view.policiesOn(web.value as Pod, 'ingress', 'networkpolicy').map(({ name }) => name);
  const policy = shopPolicy('a', CLOSED);
  for (const event of [web, policy]) {
    view.apply(event);
    state.apply(event);
  }
  expect(named()).toEqual(['shop/a']);
  state.apply({ type: 'policy', key: 'NetworkPolicy shop/a' });
  view.flushed();
  expect(named()).toEqual([]);
});
