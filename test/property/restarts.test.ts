/** Histories in which the agent is killed, also in the middle of a commit, and another one takes its rules over. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { enforced } from '../support/agent/replay.ts';
import { type Life, type Manner, RestartedNode, type RestartTally } from '../support/agent/restarts.ts';
import { flowsArbitrary, untoldClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { eventArbitrary, eventsOf } from '../support/arbitrary/events.ts';

const HISTORIES = Number(process.env.SLUICE_RUNS ?? 150);
const FLOWS = 40;
const LIMITS = { perSource: { perSecond: 2, burst: 20 }, inAll: { perSecond: 50, burst: 200 } };

/** Any of them may be another one after a restart. */
const manner: fc.Arbitrary<Manner> = fc
  .tuple(
    enforced,
    fc.record({
      counts: fc.constantFrom(undefined, 'times' as const, 'times and last' as const),
      denials: fc.constantFrom(undefined, LIMITS),
    }),
  )
  .map(([enforced, others]) => ({ ...enforced, ...others }));

const life: fc.Arbitrary<Life> = fc
  .record({
    events: fc.uniqueArray(eventArbitrary, {
      minLength: 1,
      maxLength: 3,
      selector: ({ type, key }) => `${type} ${key}`,
    }),
    killedBefore: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
    meanwhile: fc.array(eventArbitrary, { maxLength: 3 }),
    order: fc.nat(1000),
    manner,
  })
  .map(({ killedBefore, ...others }) => ({ ...others, ...(killedBefore !== undefined && { killedBefore }) }));

const history = untoldClusterArbitrary.chain(cluster =>
  fc.record({
    cluster: fc.constant(cluster),
    first: manner,
    flows: flowsArbitrary(cluster, FLOWS),
    lives: fc.array(life, { minLength: 1, maxLength: 6 }),
  }),
);

test('whenever an agent dies, the next one ends where compile does, and opens nothing on the way', async () => {
  const tally: RestartTally = { restarts: 0, killed: 0, states: 0, verdicts: 0, denied: 0, commits: 0 };
  await fc.assert(
    fc.asyncProperty(history, async ({ cluster, first, flows, lives }) => {
      const node = new RestartedNode(first, flows, tally);
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
