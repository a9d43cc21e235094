/** What audit says of a connection is what the reference says once the policy is enforced. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { enforced, withEnforced } from '../../src/model/audited.ts';
import { auditor, mayAffect } from '../../src/semantics/audit.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { viewOf } from '../../src/semantics/view.ts';
import { situationArbitrary } from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

test('a policy that is switched from audit to enforced does what audit said, and the others nothing', () => {
  const changes = { deny: 0, allow: 0 };
  fc.assert(
    fc.property(situationArbitrary(40), ({ cluster, unknownPods, flows }) => {
      const view = viewOf(cluster, unknownPods);
      const sets = [...cluster.audited!.keys()].map(id => [id]);
      for (const ids of [...sets, [...cluster.audited!.keys()]]) {
        const policies = ids.map(id => enforced(cluster.audited!.get(id)!));
        const [audit, then] = [auditor(view, policies), evaluator(withEnforced(cluster, ids), unknownPods)];
        const now = evaluator({ ...cluster, audited: new Map() }, unknownPods);
        for (const flow of flows) {
          const found = audit(flow);
          expect(found).toEqual({ now: now(flow), enforced: then(flow) });
          if (!policies.some(policy => mayAffect(view, policy, flow)))
            expect(found.enforced).toEqual(found.now);
          if (found.now.verdict !== found.enforced.verdict) changes[found.enforced.verdict]++;
        }
      }
    }),
    { numRuns: runs(500), interruptAfterTimeLimit: 60_000 },
  );
  expect(Math.min(changes.deny, changes.allow)).toBeGreaterThan(runs(30));
}, 120_000);
