/** Suggested policies allow what was recorded of their namespace, and nobody who never spoke anything. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { familyOf } from '../../src/model/address.ts';
import { isNodeItself, type Pod } from '../../src/model/cluster.ts';
import type { Policy, PolicyId } from '../../src/model/policy.ts';
import { stableLabels } from '../../src/model/stablelabels.ts';
import { recordingJudge } from '../../src/observe/recording/judge.ts';
import { policyFlow, type RecordedEnd } from '../../src/observe/recording/recording.ts';
import { suggestPolicies } from '../../src/observe/recording/suggest/suggest.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { viewOf } from '../../src/semantics/view.ts';
import { flowsArbitrary, situationArbitrary } from '../support/arbitrary/cluster.ts';
import { recorded } from '../support/recorded.ts';
import { runs } from '../support/seed.ts';

function decoded(objects: readonly object[]): ReadonlyMap<PolicyId, Policy> {
  return new Map(
    objects.map(object => {
      const { event, problems } = decodeObject(object);
      expect(problems).toEqual([]);
      const policy = event!.value as Policy;
      return [policy.id, policy];
    }),
  );
}

const sameLabels = ({ namespace, labels }: Pod) =>
  `${namespace} ${JSON.stringify(Object.entries(stableLabels(labels)).sort())}`;

/** No selector means these alone: the suggestion says so, and leaves them out. */
const isNameless = ({ pod }: RecordedEnd) =>
  pod !== undefined && Object.keys(stableLabels(pod.labels)).length === 0;

test('what was recorded is allowed, and what never spoke is denied', () => {
  const tally = { allowed: 0, denied: 0 };
  fc.assert(
    fc.property(situationArbitrary(25), fc.gen(), ({ cluster, unknownPods, flows }, gen) => {
      const open = { ...cluster, policies: new Map() };
      const view = viewOf(open, unknownPods);
      const known = flows.filter(({ from, to }) => [from, to].every(at => !view.owners.get(at)?.partial));
      const recording = recorded(open, unknownPods, known);
      for (const namespace of ['a', 'b', 'c']) {
        const policies = decoded(suggestPolicies(recording, namespace).objects);
        const judge = recordingJudge(recording, { policies });
        for (const flow of recording.flows) {
          if (flow.was === 'deny' || flow.port === undefined || [flow.from, flow.to].some(isNameless))
            continue;
          expect([flow, judge(flow).verdict]).toEqual([flow, 'allow']);
          if (flow.to.pod?.namespace === namespace) tally.allowed++;
        }
        const spoke = new Set(
          recording.flows.flatMap(({ from }) => (from.pod ? [sameLabels(from.pod)] : [])),
        );
        const enforced = evaluator({ ...open, policies }, unknownPods);
        const others = [...cluster.pods.values()].flatMap(({ addresses }) => addresses);
        const asOthers = recording.flows.flatMap(flow =>
          others
            .filter(at => familyOf(at) === familyOf(flow.from.address))
            .map(from => ({ ...policyFlow(flow), from })),
        );
        for (const flow of [...asOthers, ...gen(flowsArbitrary, open, 25)]) {
          const [from, to] = [view.owners.get(flow.from), view.owners.get(flow.to)];
          if (from === undefined || from === to || from.partial || spoke.has(sameLabels(from))) continue;
          if (from.namespace !== namespace && to?.namespace !== namespace) continue;
          if (to !== undefined && isNodeItself(cluster.nodes.get(to.node), flow.from)) continue;
          expect([flow, enforced(flow).verdict]).toEqual([flow, 'deny']);
          tally.denied++;
        }
      }
    }),
    { numRuns: runs(300), interruptAfterTimeLimit: 60_000 },
  );
  expect(Math.min(tally.allowed, tally.denied)).toBeGreaterThan(runs(100));
}, 120_000);
