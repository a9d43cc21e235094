/** What `check` says of a policy holds: a rule that is covered, and a policy that selects nobody, decide nothing. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lint } from '../../src/answers/lint/lint.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { Policy, PolicyId, Rule } from '../../src/model/policy.ts';
import type { WarningCode } from '../../src/model/problem.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { flowsArbitrary, knownClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

/** Objects with errors are not warned of, and what is not known of a pod closes more than what is written. */
const UNREAD = new Set(['unreadable', 'partial']);

function readable<K, V>(objects: ReadonlyMap<K, V>): Map<K, V> {
  const read = (value: V) =>
    JSON.parse(JSON.stringify(value), (key, each) => (UNREAD.has(key) ? undefined : each)) as V;
  return new Map([...objects].map(([key, value]) => [key, read(value)]));
}

const situation = knownClusterArbitrary
  .map(({ namespaces, pods, policies, ...rest }): Cluster => {
    return { ...rest, namespaces: readable(namespaces), pods: readable(pods), policies: readable(policies) };
  })
  .chain(cluster => fc.record({ cluster: fc.constant(cluster), flows: flowsArbitrary(cluster, 60) }));

function warned(cluster: Cluster, ...codes: WarningCode[]) {
  return lint(cluster, NO_INVENTORY, []).filter(({ code }) => codes.includes(code!));
}

function withPolicy(cluster: Cluster, id: PolicyId, policy: Policy | undefined): Cluster {
  const policies = new Map(cluster.policies);
  if (policy === undefined) policies.delete(id);
  else policies.set(id, policy);
  return { ...cluster, policies };
}

function withoutRule(policy: Policy, field: string): Policy {
  const others = (rules: readonly Rule[] | undefined) =>
    rules?.filter(({ path }) => `spec.${path}` !== field);
  const [ingress, egress] = [others(policy.ingress), others(policy.egress)];
  return { ...policy, ...(ingress && { ingress }), ...(egress && { egress }) };
}

function expectSame(cluster: Cluster, other: Cluster, flows: readonly Flow[]): void {
  const [now, then] = [evaluator(cluster, 'allow'), evaluator(other, 'allow')];
  for (const flow of flows) expect(then(flow).verdict).toBe(now(flow).verdict);
}

test('a rule that another one covers, or denies before, can be removed: no verdict changes', () => {
  const counts = { covered: 0, overruled: 0 };
  fc.assert(
    fc.property(situation, ({ cluster, flows }) => {
      for (const { object, field, effect } of warned(cluster, 'covered-rule')) {
        counts[effect.startsWith('the rule allows nothing') ? 'overruled' : 'covered']++;
        const id = object as PolicyId;
        expectSame(cluster, withPolicy(cluster, id, withoutRule(cluster.policies.get(id)!, field!)), flows);
      }
    }),
    { numRuns: runs(3_000, 400), interruptAfterTimeLimit: 60_000 },
  );
  expect(Math.min(counts.covered, counts.overruled)).toBeGreaterThan(5);
}, 120_000);

test('a policy that selects nobody can be removed: no verdict changes', () => {
  let count = 0;
  fc.assert(
    fc.property(situation, ({ cluster, flows }) => {
      for (const { object } of warned(cluster, 'empty-subject', 'wrong-namespace')) {
        count++;
        expectSame(cluster, withPolicy(cluster, object as PolicyId, undefined), flows);
      }
    }),
    { numRuns: runs(1000), interruptAfterTimeLimit: 60_000 },
  );
  expect(count).toBeGreaterThan(runs(30));
}, 120_000);
