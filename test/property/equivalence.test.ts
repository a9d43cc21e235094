/** design.md §5, step 2: what explains a verdict to a person is what the kernel enforces. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cluster } from '../../src/model/cluster.ts';
import { awaitingAllowances } from '../support/agent/replay.ts';
import { claimingSituationArbitrary } from '../support/arbitrary/cluster.ts';
import { checkSituation, type Tally } from '../support/oracle/equivalence.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(2_000, 300);
const FLOWS = 60;

const emptyTally = (): Tally => ({
  packets: 0,
  decidedByPolicy: 0,
  denied: 0,
  unknown: 0,
  byName: 0,
  tiers: {},
});

test('evaluate() equals the trace of compile() for random connected clusters and packets', () => {
  const tally = emptyTally();
  fc.assert(
    fc.property(claimingSituationArbitrary(FLOWS), situation => checkSituation(situation, tally)),
    { numRuns: CLUSTERS },
  );
  process.stdout.write(
    `    ${tally.packets} packets; a policy decided ${tally.decidedByPolicy}, ${tally.denied} were denied, ${tally.unknown} as unknown pods, ${tally.byName} by name; ${JSON.stringify(tally.tiers)}\n`,
  );
  expect(tally.packets).toBeGreaterThanOrEqual(50 * CLUSTERS);
  // A generator that has gone sparse proves nothing.
  expect(tally.decidedByPolicy / tally.packets).toBeGreaterThan(0.5);
  expect(tally.unknown).toBeGreaterThan(CLUSTERS);
  expect(tally.byName).toBeGreaterThan(CLUSTERS / 3);
  for (const tier of ['admin', 'networkpolicy', 'baseline'])
    expect(tally.tiers[tier]).toBeGreaterThan(2.5 * CLUSTERS);
}, 900_000);

test('the same where pods await their allowances, and less is allowed', () => {
  const [whole, awaiting] = [emptyTally(), emptyTally()];
  fc.assert(
    fc.property(claimingSituationArbitrary(FLOWS), situation => {
      checkSituation(situation, whole);
      checkSituation({ ...situation, cluster: awaitingIn(situation.cluster) }, awaiting);
    }),
    { numRuns: runs(300, 50) },
  );
  process.stdout.write(`    ${whole.denied} packets are denied, and ${awaiting.denied} meanwhile\n`);
  expect(awaiting.denied).toBeGreaterThan(1.1 * whole.denied);
}, 300_000);

test('the same where policies await theirs, whatever others say', () => {
  const [whole, awaiting] = [emptyTally(), emptyTally()];
  fc.assert(
    fc.property(claimingSituationArbitrary(FLOWS), fc.nat(2), (situation, each) => {
      checkSituation(situation, whole);
      checkSituation({ ...situation, cluster: withAwaiting(situation.cluster, each) }, awaiting);
    }),
    { numRuns: runs(300, 50) },
  );
  process.stdout.write(`    ${whole.denied} packets are denied, and ${awaiting.denied} meanwhile\n`);
  expect(awaiting.denied).toBeGreaterThan(1.05 * whole.denied);
}, 300_000);

/** One NetworkPolicy of three does. */
function withAwaiting(cluster: Cluster, each: number): Cluster {
  const policies = [...cluster.policies].map(([id, policy], at) => {
    const awaits = policy.kind === 'NetworkPolicy' && at % 3 === each;
    return [id, awaits ? awaitingAllowances(policy) : policy] as const;
  });
  return { ...cluster, policies: new Map(policies) };
}

/** Every pod does. */
function awaitingIn(cluster: Cluster): Cluster {
  const pods = [...cluster.pods].map(
    ([key, pod]) => [key, { ...pod, closed: 'rules follow' as const }] as const,
  );
  return { ...cluster, pods: new Map(pods) };
}
