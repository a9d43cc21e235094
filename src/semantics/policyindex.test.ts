import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clusterArbitrary } from '../../test/support/arbitrary/cluster.ts';
import { runs } from '../../test/support/seed.ts';
import { comparePolicies } from '../model/policy.ts';
import { PolicyIndex } from './policyindex.ts';
import { policiesAmong, policyFinder } from './view.ts';

test('what selects a pod is found, in its order, as by asking every policy', () => {
  const tally = { found: 0, leftOut: 0 };
  fc.assert(
    fc.property(clusterArbitrary, cluster => {
      const all = [...cluster.policies.values()].sort(comparePolicies);
      const [find, index] = [policyFinder(cluster), new PolicyIndex(all)];
      for (const pod of cluster.pods.values()) {
        tally.leftOut += all.length - index.candidates(pod).length;
        for (const tier of ['admin', 'networkpolicy', 'baseline'] as const)
          for (const direction of ['ingress', 'egress'] as const) {
            const found = find(pod, direction, tier);
            expect(found).toEqual(policiesAmong(all, cluster, pod, direction, tier));
            tally.found += found.length;
          }
      }
    }),
    { numRuns: runs(200) },
  );
  // This would fail for a generator without such policies, or an index that leaves no policy out.
  expect(tally.found).toBeGreaterThan(runs(1_000));
  expect(tally.leftOut).toBeGreaterThan(runs(1_000));
});

test('policies that come, change and go are found as if the index had been made of them', () => {
  fc.assert(
    fc.property(clusterArbitrary, clusterArbitrary, (before, after) => {
      const index = new PolicyIndex(before.policies.values());
      for (const id of new Set([...before.policies.keys(), ...after.policies.keys()]))
        index.put(id, after.policies.get(id));
      const find = policyFinder(after, index);
      const expected = policyFinder(after);
      for (const pod of after.pods.values())
        for (const tier of ['admin', 'networkpolicy', 'baseline'] as const)
          expect(find(pod, 'ingress', tier)).toEqual(expected(pod, 'ingress', tier));
    }),
    { numRuns: runs(200) },
  );
});
