/** Peer groups for whose members the quota has no room. */
import { expect, test } from 'vitest';
import { NODE } from '../../../../test/support/agent/engine.ts';
import { tenantPod } from '../../../../test/support/agent/tenants.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import { ClusterState } from '../../../model/cluster.ts';
import type { NamedGroup } from '../../group.ts';
import { PodIndex } from '../pods/podindex.ts';
import { LiveGroups } from './groups.ts';

const PODS = 10;

function groupOf(namespace: string): NamedGroup {
  const selector = { namespaces: { kind: 'name', name: namespace }, pods: { requirements: [] } } as const;
  return { name: `peers-${namespace}`, group: { kind: 'peers', peers: [{ kind: 'pods', selector }] } };
}

function groupsInRoom(ofNamespace: number): LiveGroups {
  const state = new ClusterState();
  for (const namespace of ['a', 'bb'])
    for (let n = 0; n < PODS; n++) {
      const value = tenantPod(namespace, n);
      state.apply({ type: 'pod', key: value.key, value });
    }
  return new LiveGroups(state, new PodIndex(state, NODE), { ofNamespace, ofAll: 1_000 });
}

const [a, bb] = [groupOf('a'), groupOf('bb')];

test('a group for which its namespace has no room looks at no pod, and is filled when there is room', () => {
  const groups = groupsInRoom(PODS - 1);
  expect(groups.acquire(a, 'ip', 'tenant')).toBe(PODS);
  expect(groups.acquire(bb, 'ip', 'tenant')).toBe(0);
  expect(wholeOf(groups.fillWithinQuota())).toEqual(['tenant']);
  expect(groups.membersOf(bb)).toBe(0);
  groups.release(a, 'ip', 'tenant');
  expect(wholeOf(groups.fillWithinQuota())).toEqual(['tenant']);
  expect(groups.membersOf(bb)).toBe(PODS);
});

test('a group that another namespace needs too is filled, and still counts for the one without room', () => {
  for (const other of [undefined, 'other']) {
    const groups = groupsInRoom(PODS);
    groups.acquire(a, 'ip', 'tenant');
    groups.acquire(a, 'ip6', 'tenant');
    expect(wholeOf(groups.fillWithinQuota())).toEqual([]);
    groups.acquire(bb, 'ip', 'tenant');
    expect(groups.membersOf(bb)).toBe(PODS);
    expect(wholeOf(groups.fillWithinQuota())).toEqual(['tenant']);
    const third = { ...bb, name: 'peers-third' };
    expect(groups.acquire(third, 'ip', 'tenant')).toBe(0);
    expect(groups.acquire(third, 'ip', other)).toBe(PODS);
    for (const group of [bb, third]) groups.release(group, 'ip', 'tenant');
    expect(wholeOf(groups.fillWithinQuota())).toEqual([]);
    expect(groups.room.roomOf('tenant')).toBe(0);
  }
});
