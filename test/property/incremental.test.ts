/** design.md §5, step 3: the rules depend on what the cluster is, never on how it became so. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { engineOf } from '../support/agent/engine.ts';
import { type Count, checkHistory, replay, replayInRoom, replayWaiting } from '../support/agent/replay.ts';
import { enforced } from '../support/arbitrary/enforced.ts';
import { historyArbitrary, relabellingHistoryArbitrary } from '../support/arbitrary/events.ts';
import { runs } from '../support/seed.ts';

/** Each is played in five variants. */
const HISTORIES = runs(1_600, 80);

test('incremental equals compile after every event and for every grouping of events into flushes', () => {
  const count = { flushes: 0, chains: 0, ahead: 0 } satisfies Count;
  fc.assert(
    fc.property(historyArbitrary(16), enforced, (steps, how) => checkHistory(steps, how, count)),
    { numRuns: HISTORIES },
  );
  process.stdout.write(
    `    ${count.flushes} flushes, ${(count.chains / count.flushes).toFixed(1)} chains on average, ${count.ahead} with some ahead\n`,
  );
  expect(count.chains / count.flushes).toBeGreaterThan(6); // the base chains are three
  expect(count.ahead).toBeGreaterThan(runs(500, 25));
}, 900_000);

test('while namespaces are relabelled and their pods wait, the rules are those of a cluster that could have been', () => {
  const count = { waited: 0, closed: 0 };
  const patience = fc.record({ isolating: fc.nat(2), others: fc.nat(4) });
  fc.assert(
    fc.property(relabellingHistoryArbitrary(12), enforced, patience, (steps, how, itsPatience) => {
      const end = replayWaiting(steps, how, count, itsPatience);
      expect(end).toBe(replay(steps, how));
    }),
    { numRuns: runs(80, 20) },
  );
  process.stdout.write(
    `    ${count.waited} times a pod waited by its namespace alone, ${count.closed} times for its allowances\n`,
  );
  expect(count.waited).toBeGreaterThan(runs(40));
  expect(count.closed).toBeGreaterThan(runs(20));
}, 300_000);

test('where there is room for few peers, the rules are those of a cluster whose policies allow less', () => {
  const count = { refused: 0 };
  const room = fc.record({ ofNamespace: fc.nat(4), ofAll: fc.nat(12) });
  fc.assert(
    fc.property(historyArbitrary(16), enforced, room, (steps, how, itsRoom) =>
      replayInRoom(steps, how, itsRoom, count),
    ),
    { numRuns: runs(600) },
  );
  process.stdout.write(`    ${count.refused} policies had no room\n`);
  expect(count.refused).toBeGreaterThan(runs(200));
}, 300_000);

test('a flush leaves what did not change the same object', () => {
  fc.assert(
    fc.property(historyArbitrary(12), enforced, (steps, how) => {
      const engine = engineOf(
        steps.map(({ event }) => event),
        {},
        how,
      );
      const [before, after] = [engine.flush(), engine.flush()];
      for (const family of ['ip', 'ip6'] as const) {
        const [a, b] = [before.tables.get(family)!, after.tables.get(family)!];
        expect([...b.chains.values()].every(chain => a.chains.get(chain.name) === chain)).toBe(true);
        expect([...b.sets.values()].every(set => a.sets.get(set.name) === set)).toBe(true);
      }
    }),
    { numRuns: runs(300) },
  );
});

test('an audited policy changes nothing: the rules are those without it', () => {
  let audited = 0;
  fc.assert(
    fc.property(historyArbitrary(12), enforced, (steps, how) => {
      const [engine, without] = [engineOf([], {}, how), engineOf([], {}, how)];
      for (const { event, flush } of steps) {
        engine.apply(event);
        without.apply(
          event.type === 'policy' && event.value?.audited ? { type: 'policy', key: event.key } : event,
        );
        if (!flush) continue;
        audited += engine.cluster.audited?.size ?? 0;
        expect(engine.flush()).toEqual(without.flush());
      }
      expect(engine.flush()).toEqual(without.flush());
    }),
    { numRuns: runs(300) },
  );
  expect(audited).toBeGreaterThan(runs(100));
}, 300_000);
