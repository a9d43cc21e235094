/** Many small policies on the pods of one node, in many classes: as much as is compiled in bundles that classes share. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { checkHistory } from '../support/agent/replay.ts';
import { PLAIN } from '../support/arbitrary/enforced.ts';
import { eventsOf, type Step, stepsOf } from '../support/arbitrary/events.ts';
import {
  flowsOfPopulation,
  population,
  smallPolicy,
  smallPolicyChange,
  smallPolicyEvent,
} from '../support/arbitrary/smallpolicies.ts';
import { wrongStation } from '../support/oracle/equivalence.ts';
import { clusterOf } from '../support/oracle/inforce.ts';
import { runs } from '../support/seed.ts';

/** About as many as make bundles of what one class has, or all; then some at a time. */
const history = fc
  .tuple(
    fc.array(smallPolicy, { minLength: 25, maxLength: 90, size: 'max' }),
    fc.array(smallPolicyChange, { maxLength: 6 }),
  )
  .map(([first, then]): Step[] => [
    ...stepsOf(eventsOf(population())),
    ...stepsOf(
      first.map((one, name) => smallPolicyEvent({ ...one, name })),
      (at, last) => at === last,
    ),
    ...stepsOf(then, at => at % 3 !== 1),
  ]);

test('incremental equals compile while small policies come to be too many to be merged', () => {
  const count = { flushes: 0, chains: 0 };
  fc.assert(
    fc.property(history, steps => checkHistory(steps, PLAIN, count)),
    { numRuns: runs(8) },
  );
  expect(count.chains / count.flushes).toBeGreaterThan(20);
}, 900_000);

test('what bundles of policies say is what the policies say', () => {
  let bundles = 0;
  fc.assert(
    fc.property(history, steps => {
      const cluster = clusterOf(steps.map(({ event }) => event));
      const rulesets = new Map(['n1', 'n2'].map(node => [node, compile(cluster, node)]));
      const evaluate = evaluator(cluster);
      for (const flow of flowsOfPopulation()) {
        const wrong = wrongStation(cluster, rulesets, flow, () => evaluate(flow));
        if (wrong !== undefined) throw new Error(`${JSON.stringify(flow)}: ${wrong}`);
      }
      const { chains } = rulesets.get('n1')!.tables.get('ip')!;
      bundles += [...chains.keys()].filter(name => /^(from|to)-.*-more$/.test(name)).length;
    }),
    { numRuns: runs(6) },
  );
  expect(bundles).toBeGreaterThan(6);
}, 900_000);
