/** What of the cluster is looked at again after which events. */
import { expect, test } from 'vitest';
import { nodeEvent, podEvent, policyEvent } from '../../test/support/scenarios/shop.ts';
import { type ClusterEvent, ClusterState } from '../model/cluster.ts';
import { ModelView } from './modelview.ts';

const CLOSED = { podSelector: {}, policyTypes: ['Ingress'] };

test('policies are looked up anew after one has changed, and not because pods come and go', () => {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  const apply = (event: ClusterEvent) => {
    view.note(event);
    state.apply(event);
  };
  apply(nodeEvent('n1', ['172.18.0.1']));
  apply(podEvent('shop/db', 'n1', ['10.1.0.1']));
  apply(policyEvent('closed', CLOSED));
  const found = () => view.policiesOn(state.pods.get('shop/db')!, 'ingress', 'networkpolicy');
  const first = found();
  expect(first).toHaveLength(1);
  apply(podEvent('shop/web', 'n1', ['10.1.0.2']));
  apply({ type: 'pod', key: 'shop/web' });
  apply({ type: 'hostPort', key: 'none' });
  expect(found()).toBe(first);
  apply(policyEvent('closed-too', CLOSED));
  expect(found()).toHaveLength(2);
});
