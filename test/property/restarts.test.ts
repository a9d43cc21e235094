/** Histories in which the agent is killed, also in the middle of a commit, and another one takes its rules over. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Life, RestartedNode, type RestartTally } from '../support/agent/restarts.ts';
import { flowsArbitrary, untoldClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { eventArbitrary, eventsOf } from '../support/arbitrary/events.ts';

const HISTORIES = 150;
const FLOWS = 40;

const life: fc.Arbitrary<Life> = fc
  .record({
    event: eventArbitrary,
    killedBefore: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    meanwhile: fc.array(eventArbitrary, { maxLength: 3 }),
    order: fc.nat(1000),
  })
  .map(({ killedBefore, ...others }) => ({ ...others, ...(killedBefore !== undefined && { killedBefore }) }));

const history = untoldClusterArbitrary.chain(cluster =>
  fc.record({
    cluster: fc.constant(cluster),
    unknownPods: fc.constantFrom('allow' as const, 'deny' as const),
    flows: flowsArbitrary(cluster, FLOWS),
    lives: fc.array(life, { minLength: 1, maxLength: 6 }),
  }),
);

test('whenever an agent dies, the next one ends where compile does, and opens nothing on the way', async () => {
  const tally: RestartTally = { restarts: 0, killed: 0, states: 0, verdicts: 0, denied: 0 };
  await fc.assert(
    fc.asyncProperty(history, async ({ cluster, unknownPods, flows, lives }) => {
      const node = new RestartedNode(unknownPods, flows, tally);
      try {
        await node.begin(eventsOf(cluster));
        for (const each of lives) await node.live(each);
      } finally {
        await node.end();
      }
    }),
    { numRuns: HISTORIES },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  // A generator that has gone sparse proves nothing.
  expect(tally.killed).toBeGreaterThan(HISTORIES / 4);
  expect(tally.restarts).toBeGreaterThan(2 * HISTORIES);
  expect(tally.denied / tally.verdicts).toBeGreaterThan(0.1);
}, 900_000);
