/**
 * The rules for attached pods that are not policy deny no open connection, and nodes that come and go affect only
 * tunnels (N72).
 */
import { expect, test } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { Incremental } from '../../compiler/live/incremental.ts';
import type { Address } from '../../model/address.ts';
import type { ClusterEvent, Node } from '../../model/cluster.ts';
import { hostPortEvents } from '../../model/hostportevents.ts';
import { plan } from '../../nft/plan/plan.ts';
import { affectedAddresses } from './tightening.ts';

const WEB = {
  protocol: 'TCP',
  hostPort: 80,
  pod: '10.1.0.1' as Address,
  podPort: 8080,
  owner: 'shop/db',
} as const;

const other = (...podCidrs: string[]): ClusterEvent => ({
  type: 'node',
  key: 'n2',
  value: { name: 'n2', labels: {}, addresses: [], podCidrs } satisfies Node,
});

test.each<[string, 'none' | 'all', ClusterEvent[], ClusterEvent[]]>([
  ['a host port that comes', 'none', [], hostPortEvents([], [WEB])],
  ['a host port that goes', 'none', hostPortEvents([], [WEB]), hostPortEvents([WEB], [])],
  ['a node that comes', 'all', [], [other('10.2.0.0/24')]],
  ['a node that goes', 'all', [other('10.2.0.0/24')], [{ type: 'node', key: 'n2' }]],
])('%s affects %s', (_, affected, earlier, later) => {
  const engine = new Incremental('n1', 'allow', 'ours');
  const isolated = shopPolicy('db', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  const cast = [nodeEvent('n1', ['172.18.0.1']), shopPod('shop/db', 'n1', ['10.1.0.1']), isolated];
  for (const event of [...cast, ...earlier]) engine.apply(event);
  const before = engine.flush();
  for (const event of later) engine.apply(event);
  const after = engine.flush();
  const ops = plan(before, after);
  expect(ops.length).toBeGreaterThan(0);
  expect(affectedAddresses(before, after, ops)).toBe(affected);
});
