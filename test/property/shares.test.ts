/** Many small policies on the pods of one node, in many classes: as much as is compiled in bundles that classes share. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { checkHistory, type Enforced } from '../support/agent/replay.ts';
import type { Step } from '../support/arbitrary/events.ts';
import { eventsOf } from '../support/arbitrary/events.ts';
import {
  flowsOfPopulation,
  population,
  smallPolicy,
  smallPolicyChange,
  smallPolicyEvent,
} from '../support/arbitrary/smallpolicies.ts';
import { wrongStation } from '../support/oracle/equivalence.ts';
import { runs } from '../support/seed.ts';

const HOW: Enforced = { unknownPods: 'allow', podLinks: 'others', hearing: undefined };
/** About as many as make bundles of what one class has, or all; then some at a time. */
const history = fc
  .tuple(
    fc.array(smallPolicy, { minLength: 25, maxLength: 90, size: 'max' }),
    fc.array(smallPolicyChange, { maxLength: 6 }),
  )
  .map(([first, then]): Step[] => [
    ...eventsOf(population()).map(event => ({ event, flush: false })),
    ...first.map((one, i) => ({
      event: smallPolicyEvent({ ...one, name: i }),
      flush: i === first.length - 1,
    })),
    ...then.map((event, i) => ({ event, flush: i % 3 !== 1 })),
  ]);

test('incremental equals compile while small policies come to be too many to be merged', () => {
  const count = { flushes: 0, chains: 0 };
  fc.assert(
    fc.property(history, steps => checkHistory(steps, HOW, count)),
    { numRuns: runs(8) },
  );
  expect(count.chains / count.flushes).toBeGreaterThan(20);
}, 900_000);

test('what bundles of policies say is what the policies say', () => {
  let bundles = 0;
  fc.assert(
    fc.property(history, steps => {
      const cluster = new ClusterState();
      for (const { event } of steps) cluster.apply(event);
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
