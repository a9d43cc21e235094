/** The view that denials are named by is the reference's own, whatever has happened before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import { clusterEvents } from '../../src/model/clusterevents.ts';
import { ModelView } from '../../src/observe/denials/modelview.ts';
import { evaluator, judgeDirection } from '../../src/semantics/evaluate.ts';
import { flowsArbitrary } from '../support/arbitrary/cluster.ts';
import { historyArbitrary } from '../support/arbitrary/events.ts';
import { runs } from '../support/seed.ts';

test('a view that followed events judges as one that was made from the cluster', () => {
  let denied = 0;
  fc.assert(
    fc.property(historyArbitrary(60), fc.gen(), fc.boolean(), (history, gen, renewed) => {
      let state = new ClusterState();
      const options = { node: 'n1', unknownPods: 'deny', now: () => 0 } as const;
      const view = new ModelView(state, options);
      const apply = (event: ClusterEvent) => {
        view.apply(event);
        state.apply(event);
      };
      for (const { event, flush } of history) {
        apply(event);
        if (!flush) continue;
        view.flushed();
        for (const pod of state.pods.values()) view.policiesOn(pod, 'egress', 'networkpolicy');
      }
      if (renewed) {
        // Another engine gets the same cluster.
        const events = [...clusterEvents(state)];
        state = new ClusterState();
        view.follow(state);
        for (const event of events) apply(event);
      }
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
