import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ingressPolicy, podEvent, policyEvent, tenantPod } from '../../test/support/agent/tenants.ts';
import { runs } from '../../test/support/seed.ts';
import { Backlog } from './latency.ts';

const policy = policyEvent(ingressPolicy('tenant/web', []));
const pod = podEvent(tenantPod('tenant', 1));

test('what waits for its turn stays as old as it is, and the rest is on its way', () => {
  const backlog = new Backlog();
  for (const atMs of [10, 20, 30]) backlog.noted([policy, policy, pod], atMs);
  backlog.take([30, 10, 10]);
  expect(backlog.arrived(40, new Map())).toEqual([
    { ms: 30, events: 1 },
    { ms: 20, events: 3 },
    { ms: 10, events: 2 },
  ]);
  expect([backlog.size, backlog.lagMs(40)]).toEqual([0, 0]);
  backlog.take([30]);
  expect(backlog.arrived(50, new Map())).toEqual([{ ms: 40, events: 2 }]);
  backlog.noted([policy], 55);
  expect([backlog.size, backlog.lagMs(60)]).toEqual([1, 5]);
  backlog.take();
  expect([backlog.size, backlog.lagMs(60)]).toEqual([2, 30]);
});

test('of thousands that wait each stays with the latest ones that it may have come with', () => {
  const times = fc.array(fc.nat(60), { minLength: 1, maxLength: 40 }).map(each => each.sort((a, b) => a - b));
  let stayed = 0;
  fc.assert(
    fc.property(times, fc.array(fc.nat(70), { maxLength: 60 }), (noted, deferred) => {
      const backlog = new Backlog();
      for (const atMs of noted) backlog.noted([policy], atMs);
      backlog.take(deferred);
      const left = [...noted];
      let stays = 0;
      for (const sinceMs of deferred.toSorted((a, b) => b - a)) {
        const at = left.findLastIndex(atMs => atMs <= sinceMs + 1);
        if (at >= 0) left.splice(at, 1);
        if (at >= 0) stays++;
      }
      stayed += stays;
      const arrived = backlog.arrived(100, new Map());
      expect(arrived.flatMap(({ ms, events }) => Array(events).fill(100 - ms))).toEqual(left);
      backlog.take();
      expect(backlog.size).toBe(stays);
    }),
    { numRuns: runs(300) },
  );
  expect(stayed).toBeGreaterThan(runs(300));
});
