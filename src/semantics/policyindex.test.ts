import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clusterArbitrary } from '../../test/support/arbitrary/cluster.ts';
import { comparePolicies } from '../model/policy.ts';
import { policyIndex } from './policyindex.ts';
import { policiesAmong, policyFinder } from './view.ts';

test('what selects a pod is found, in its order, as by asking every policy', () => {
  const tally = { found: 0, leftOut: 0 };
  fc.assert(
    fc.property(clusterArbitrary, cluster => {
      const all = [...cluster.policies.values()].sort(comparePolicies);
      const [find, candidates] = [policyFinder(cluster), policyIndex(all)];
      for (const pod of cluster.pods.values()) {
        tally.leftOut += all.length - candidates(pod).length;
        for (const tier of ['admin', 'networkpolicy', 'baseline'] as const)
          for (const direction of ['ingress', 'egress'] as const) {
            const found = find(pod, direction, tier);
            expect(found).toEqual(policiesAmong(all, cluster, pod, direction, tier));
            tally.found += found.length;
          }
      }
    }),
    { numRuns: 200 },
  );
  // A generator without such policies, or an index that leaves nobody out, would prove nothing.
  expect(tally.found).toBeGreaterThan(1_000);
  expect(tally.leftOut).toBeGreaterThan(1_000);
});
