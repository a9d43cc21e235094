/** The view that denials are named by is the reference's own, whatever has happened before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import { ModelView } from '../../src/observe/denials/modelview.ts';
import { evaluator, judgeDirection } from '../../src/semantics/evaluate.ts';
import { flowsArbitrary } from '../support/arbitrary/cluster.ts';
import { historyArbitrary } from '../support/arbitrary/events.ts';
import { runs } from '../support/seed.ts';

test('a view that followed events judges as one that was made from the cluster', () => {
  let denied = 0;
  fc.assert(
    fc.property(historyArbitrary(60), fc.gen(), fc.boolean(), fc.boolean(), (history, gen, renewed, late) => {
      const state = new ClusterState();
      const options = { node: 'n1', unknownPods: 'deny', now: () => 0 } as const;
      const view = new ModelView(state, options);
      // What is noted during a flush comes into the model with the next one.
      let [noted, before]: [ClusterEvent[], ClusterEvent[]] = [[], []];
      const flush = () => {
        for (const event of before) state.apply(event);
        view.flushed();
        [before, noted] = [noted, []];
        for (const pod of state.pods.values()) view.policiesOn(pod, 'egress', 'networkpolicy');
      };
      for (const { event, flush: isFlushed } of history) {
        view.apply(event);
        if (late) noted.push(event);
        else state.apply(event);
        if (isFlushed) flush();
      }
      for (let rest = 0; rest < 2; rest++) flush();
      if (renewed) view.follow(state);
      const judge = evaluator(state, 'deny', 'n1');
      for (const flow of gen(flowsArbitrary, state, 20)) {
        const expected = judge(flow);
        for (const direction of ['egress', 'ingress'] as const) {
          expect(judgeDirection(view, direction, flow)).toEqual(expected[direction]);
          if (expected[direction].verdict === 'deny') denied++;
        }
      }
    }),
    { numRuns: runs(300), interruptAfterTimeLimit: 60_000 },
  );
  expect(denied).toBeGreaterThan(runs(100));
}, 120_000);
