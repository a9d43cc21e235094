import { expect, test } from 'vitest';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Action, Policy } from '../../../model/policy.ts';
import { EVERYTHING } from '../../../model/selector.ts';
import { NodesNotSynced } from './clusterfeed.ts';

const NODES = [{ kind: 'nodes', selector: EVERYTHING }] as const;

function policy(name: string, action: Action, peers: Policy['egress'] = undefined): ClusterEvent {
  const id = `ClusterNetworkPolicy ${name}` as const;
  const egress = peers ?? [{ path: 'egress[0]', action, peers: NODES, ports: 'any' as const }];
  return { type: 'policy', key: id, value: { id, egress } as unknown as Policy };
}

function closedOf(event: ClusterEvent): unknown {
  return {
    ...event,
    value: {
      ...event.value,
      closed: 'nodes unread',
      egress: [{ path: 'egress[0]', action: 'deny', peers: 'any', ports: 'any' }],
    },
  };
}

test('NodesNotSynced lets a rule that denies or passes nodes deny everybody until nodes are known', () => {
  const it = new NodesNotSynced();
  const events = [policy('deny', 'deny'), policy('pass', 'pass'), policy('accept', 'accept')];
  expect(it.pass(events)).toEqual([closedOf(events[0]!), closedOf(events[1]!), events[2]]);
  expect(it.setKnown()).toEqual(events.slice(0, 2));
  expect(it.pass(events)).toBe(events);
  expect(it.setKnown()).toEqual([]);
});

test('NodesNotSynced forgets what went, and what speaks of nodes no more', () => {
  const it = new NodesNotSynced();
  it.pass([policy('a', 'deny'), policy('b', 'deny')]);
  it.pass([{ type: 'policy', key: 'ClusterNetworkPolicy a' }, policy('b', 'deny', [])]);
  expect(it.setKnown()).toEqual([]);
});
