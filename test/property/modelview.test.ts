/** The view that denials are named by is the reference's own, whatever has happened before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ModelView } from '../../src/denials/modelview.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { evaluator, judgeDirection } from '../../src/semantics/evaluate.ts';
import { flowsArbitrary } from '../support/arbitrary/cluster.ts';
import { historyArbitrary } from '../support/arbitrary/events.ts';

test('a view that followed events judges as one that was made from the cluster', () => {
  let denied = 0;
  fc.assert(
    fc.property(historyArbitrary(60), fc.gen(), fc.boolean(), (history, gen, renewed) => {
      const state = new ClusterState();
      const options = { node: 'n1', unknownPods: 'deny', now: () => 0 } as const;
      const view = new ModelView(state, options);
      for (const { event, flush } of history) {
        view.note(event);
        state.apply(event);
        if (flush) for (const pod of state.pods.values()) view.policiesOn(pod, 'egress', 'networkpolicy');
      }
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
    { numRuns: 300, interruptAfterTimeLimit: 60_000 },
  );
  expect(denied).toBeGreaterThan(100);
}, 120_000);
