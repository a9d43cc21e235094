/**
 * Where the last agent allowed unknown pods because it took itself for the node's last one, the next agent denies them
 * again before it has read the cluster.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clusterArbitrary } from '../../test/support/arbitrary/cluster.ts';
import type { Address } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import type { Mac } from '../model/mac.ts';
import type { PodLinks } from '../model/podlinks.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { denyingUnknownPods } from './deniedagain.ts';
import { markedRemoved } from './removedmark.ts';
import { allowingUnknownPods } from './unknownpods.ts';

test('denyingUnknownPods() makes of what an agent left open the rules that it had', () => {
  const links = fc.constantFrom<PodLinks>('ours', 'others');
  fc.assert(
    fc.property(clusterArbitrary, links, (cluster, podLinks) => {
      const denying = compile(cluster, 'n1', 'deny', podLinks);
      const open = markedRemoved(allowingUnknownPods(denying));
      expect(plan(denyingUnknownPods(open), denying)).toEqual([]);
      expect(plan(denyingUnknownPods(denying), denying)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test('denyingUnknownPods() denies in both families, and nothing where no network of pods was known', () => {
  const state = new ClusterState();
  const nothing = compile(state, 'n1', 'deny');
  expect(plan(nothing, denyingUnknownPods(nothing))).toEqual([]);
  const podCidrs = ['10.244.1.0/24', 'fd00:244:0:1::/64'];
  const podPorts = [{ index: 5, mac: '0a:58:0a:f4:01:05' as Mac, addresses: ['10.244.1.5' as Address] }];
  const links = { uplinks: [2], podBridges: [3], podPorts };
  state.apply({ type: 'node', key: 'n1', value: { name: 'n1', labels: {}, addresses: [], podCidrs, links } });
  const denying = compile(state, 'n1', 'deny');
  const open = allowingUnknownPods(denying);
  expect(plan(open, denying).length).toBeGreaterThan(5);
  expect(plan(denyingUnknownPods(open), denying)).toEqual([]);
});
