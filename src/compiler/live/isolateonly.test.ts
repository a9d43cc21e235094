/** Policies that only isolate until their rules are prepared, beside other policies of the same pods. */
import { expect, test } from 'vitest';
import { flushedEngineOf, NODE } from '../../../test/support/agent/engine.ts';
import { awaitingAllowances } from '../../../test/support/agent/replay.ts';
import {
  allowPort,
  ingressPolicy,
  podEvent,
  policyEvent,
  tenantPod,
} from '../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../lib/collections/pieces.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import { plan } from '../../nft/plan/plan.ts';
import type { Incremental } from './incremental.ts';

const ofApp = (app: string) => [{ key: 'app', operator: 'In' as const, values: [app] }];
const pods = ['web', 'db'].map((app, n) =>
  podEvent(tenantPod('tenant', n + 1, { labels: { app }, node: NODE })),
);
const web = ingressPolicy('tenant/web', [allowPort(80)], ofApp('web'));
const all = ingressPolicy('tenant/all', [allowPort(443)]);

function gone({ id }: Policy): ClusterEvent {
  return { type: 'policy', key: id };
}

/**
 * Applies the events and flushes. The result has to be that of `compile`; returns the chains to which each pod's
 * address leads.
 */
function chainsAfter(engine: Incremental, events: readonly ClusterEvent[], last: ClusterEvent): string[] {
  engine.apply(last);
  const ruleset = wholeOf(engine.flushInPieces());
  assertExactly(ruleset, clusterOf([...events, last]));
  const { sets } = ruleset.tables.get('ip')!;
  const elements = [...sets.values()].flatMap(({ elements: its }) => [...its.values()]);
  return elements.flatMap(({ verdict }) => (verdict?.kind === 'goto' ? [verdict.chain] : [])).sort();
}

test('a policy that only isolates does not change classes that another policy isolates', () => {
  const events = [...pods, policyEvent(web), policyEvent(ingressPolicy('tenant/db', [], ofApp('db')))];
  const engine = flushedEngineOf(events);
  const before = engine.flush();
  engine.apply(policyEvent(awaitingAllowances(all)));
  const after = wholeOf(engine.flushInPieces());
  expect(plan(before, after)).toEqual([]);
  expect([...after.tables.get('ip')!.chains.values()]).toEqual([...before.tables.get('ip')!.chains.values()]);
});

test('it isolates pods that no other policy isolates, also when the last other one is deleted', () => {
  const events = [...pods, policyEvent(web)];
  const engine = flushedEngineOf(events);
  const chains = chainsAfter(engine, events, policyEvent(awaitingAllowances(all)));
  expect(chains.map(chain => chain.slice(chain.indexOf('tenant/'))).sort()).toEqual([
    'tenant/all',
    'tenant/web',
  ]);
  const withAll = [...events, policyEvent(awaitingAllowances(all))];
  const both = chainsAfter(engine, withAll, gone(web));
  expect(new Set(both).size).toBe(1);
  expect(both).toHaveLength(2);
  expect(both[0]).toContain('tenant/all');
});

test('it allows what its rules allow once they are ready', () => {
  const events = [...pods, policyEvent(web), policyEvent(awaitingAllowances(all))];
  const engine = flushedEngineOf(events);
  const chains = chainsAfter(engine, events, policyEvent(all));
  expect(chains.some(chain => chain.includes('1-more'))).toBe(true);
});

test('what was prepared for one version is not used for another', () => {
  const large = (first: number) =>
    ingressPolicy(
      'tenant/all',
      Array.from({ length: 300 }, (_, n) => allowPort(first + n)),
    );
  const events = [...pods, policyEvent(web), policyEvent(all)];
  const engine = flushedEngineOf(events);
  const change = { id: all.id, value: large(1_000) };
  engine.prepare([change]);
  engine.flush();
  expect(engine.isPrepared(change)).toBe(true);
  chainsAfter(engine, events, policyEvent(large(2_000)));
});
