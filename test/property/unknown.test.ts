/**
 * N68: what nobody knows yet never opens. A cluster in which labels of namespaces and pods, and parts of subjects, are
 * not known is completed in a random way, as if they were read at last: whatever was allowed before is allowed then.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import type { Policy } from '../../src/model/policy.ts';
import type { LabelSelector } from '../../src/model/selector.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import {
  namespaceArbitrary,
  podLabels,
  type Situation,
  situationArbitrary,
  subjectRequirements,
} from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

/** What turns out to be there: the same whichever object it is for, so that one draw completes a whole cluster. */
const revelation = fc.record({
  namespaces: fc.tuple(...['a', 'b', 'c'].map(namespaceArbitrary)),
  labels: podLabels,
  requirements: subjectRequirements,
});
type Revelation = typeof revelation extends fc.Arbitrary<infer T> ? T : never;

const count = { flows: 0, allowed: 0, opened: 0 };

test('what is not known never allows what would be denied if it were known', () => {
  fc.assert(fc.property(situationArbitrary(40), revelation, check), { numRuns: runs(2_000) });
  // A generator that leaves nothing unknown proves nothing.
  expect(count.opened / count.flows).toBeGreaterThan(0.02);
  expect(count.allowed / count.flows).toBeGreaterThan(0.1);
}, 300_000);

function check({ cluster, flows }: Situation, revealed: Revelation): void {
  const [before, after] = [evaluator(cluster), evaluator(complete(cluster, revealed))];
  for (const flow of flows) {
    const [unknown, known] = [before(flow).verdict, after(flow).verdict];
    count.flows++;
    if (unknown === 'allow') count.allowed++;
    if (unknown === 'deny' && known === 'allow') count.opened++;
    if (unknown === 'allow' && known === 'deny')
      throw new Error(`${JSON.stringify(flow)} is allowed as long as nobody knows, and denied then`);
  }
}

function complete(cluster: Cluster, revealed: Revelation): Cluster {
  const namespaces = new Map(revealed.namespaces.map(namespace => [namespace.name, namespace]));
  for (const [name, namespace] of cluster.namespaces) namespaces.set(name, namespace);
  const pods = mapped(cluster.pods, pod => completePod(pod, revealed));
  const policies = mapped(cluster.policies, policy => completePolicy(policy, revealed));
  return { ...cluster, namespaces, pods, policies };
}

function completePod({ partial, ...pod }: Pod, { labels }: Revelation): Pod {
  return partial ? { ...pod, labels: { ...labels, ...pod.labels } } : pod;
}

function completePolicy(policy: Policy, revealed: Revelation): Policy {
  const { namespaces, pods } = policy.subject;
  const known =
    namespaces.kind === 'name'
      ? namespaces
      : { ...namespaces, selector: completeSelector(namespaces.selector, []) };
  return { ...policy, subject: { namespaces: known, pods: completeSelector(pods, revealed.requirements) } };
}

function completeSelector(
  { unreadable, requirements }: LabelSelector,
  more: LabelSelector['requirements'],
): LabelSelector {
  return { requirements: unreadable ? [...requirements, ...more] : requirements };
}

function mapped<K, V>(map: ReadonlyMap<K, V>, change: (value: V) => V): Map<K, V> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
