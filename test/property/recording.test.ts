/** A recording is judged, anywhere and by any policies, as the reference judges the flows themselves. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordingJudge } from '../../src/observe/recording/judge.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { clusterArbitrary, situationArbitrary } from '../support/arbitrary/cluster.ts';
import { recorded } from '../support/recorded.ts';
import { runs } from '../support/seed.ts';

test('recorded flows have the verdicts, policies, rules and reasons of evaluate', () => {
  const verdicts = { allow: 0, deny: 0 };
  fc.assert(
    fc.property(situationArbitrary(30), clusterArbitrary, ({ cluster, unknownPods, flows }, other) => {
      const recording = recorded(cluster, unknownPods, flows);
      for (const { policies } of [cluster, other]) {
        const [judge, expected] = [
          recordingJudge(recording, { policies }),
          evaluator({ ...cluster, policies }, unknownPods),
        ];
        for (const [i, flow] of flows.entries()) {
          const verdict = judge(recording.flows[i]!);
          expect(verdict).toEqual(expected(flow));
          verdicts[verdict.verdict]++;
        }
      }
    }),
    { numRuns: runs(500), interruptAfterTimeLimit: 60_000 },
  );
  expect(Math.min(verdicts.allow, verdicts.deny)).toBeGreaterThan(runs(1_000));
}, 120_000);
