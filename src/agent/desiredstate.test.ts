/**
 * Events that arrive during a flush, and whether the flush leaves changes that can wait to the next one because of
 * them.
 */
import { expect, test } from 'vitest';
import {
  crowd,
  ingressPolicy,
  podEvent,
  policyEvent,
  selecting,
  tenantPod,
} from '../../test/support/agent/tenants.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { UNLIMITED_TIME } from '../compiler/live/workbudget.ts';
import type { ClusterEvent } from '../model/cluster.ts';
import type { Rule } from '../model/policy.ts';
import { isQuarantined } from '../model/policystatus.ts';
import { KernelError } from '../nft/kernel.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { FAIRNESS } from './admission/limits.ts';
import { DesiredState } from './desiredstate.ts';
import type { Engine } from './engine.ts';
import { BatchScope } from './scheduler.ts';

const NODE = 'n1';
const quarantinedOf = ({ lastingStatuses }: DesiredState) => lastingStatuses.filter(isQuarantined);
const EMPTY: Ruleset = { tables: new Map([['ip', { chains: new Map(), sets: new Map() }]]) };

/** An engine to whose flushes something happens as soon as they have begun. */
function interrupted(): { engine: Engine; during: () => void; told: boolean[] } {
  class Interrupted extends Incremental {
    override *flushInPieces(timeBudget = UNLIMITED_TIME) {
      site.told = [timeBudget.hasWaitingEvents()];
      site.during();
      site.told.push(timeBudget.hasWaitingEvents());
      return yield* super.flushInPieces(timeBudget);
    }
  }
  const site = { told: [] as boolean[], during: () => {}, engine: new Interrupted(NODE) };
  return site;
}

/** The value of the option for changes that can wait, as the flush begins and after an event that arrives during it. */
async function told(event: ClusterEvent, inForce: readonly ClusterEvent[] = []): Promise<boolean[]> {
  const site = interrupted();
  const state = new DesiredState({ makeEngine: () => site.engine, node: NODE, timing: { now: () => 0 } });
  for (const each of inForce) state.apply(each);
  await state.flush(EMPTY, new BatchScope(true));
  state.committed(1);
  site.during = () => state.apply(event);
  await state.flush(EMPTY, new BatchScope(false));
  return site.told;
}

test('a small policy, a new one, or a pod of this node waits for the next flush', async () => {
  const pod = podEvent(tenantPod('neighbour', 1, { node: NODE }));
  const isNew = selecting('hostile/large', 400);
  for (const event of [policyEvent(ingressPolicy('neighbour/deny', [])), isNew, pod])
    expect(await told(event)).toEqual([false, true]);
});

test('a large policy that is written again, or a pod of another node, is in no hurry', async () => {
  const edit = selecting('hostile/large', 400, 'other');
  expect(await told(edit, [selecting('hostile/large', 400)])).toEqual([false, false]);
  expect(await told(podEvent(tenantPod('hostile', 1, { node: 'n2' })))).toEqual([false, false]);
});

test('a flush that has taken long leaves what can wait, whoever comes', async () => {
  const site = interrupted();
  let nowMs = 0;
  const state = new DesiredState({ makeEngine: () => site.engine, node: NODE, timing: { now: () => nowMs } });
  site.during = () => {
    nowMs += FAIRNESS.flushMs + 1;
  };
  await state.flush(EMPTY, new BatchScope(true));
  expect(site.told).toEqual([false, true]);
});

test('a policy without room is told of, isolates for everybody who asks, and is tried again when pods are fewer', async () => {
  let nowMs = 0;
  const room = { ofNamespace: 50, ofAll: 100 };
  const engine = () => new Incremental(NODE, 'allow', 'others', undefined, { room });
  const state = new DesiredState({ makeEngine: engine, node: NODE, timing: { now: () => nowMs } });
  const flush = async (isFirst = false) => {
    await state.flush(EMPTY, new BatchScope(isFirst));
    const { names } = state;
    state.committed(1);
    return names;
  };
  const policy = policyEvent(ingressPolicy('tenant/web', [from('tenant')]));
  const pods = crowd('tenant', 60, 'red');
  for (const event of [...pods, podEvent(tenantPod('tenant', 1, { node: NODE })), policy]) state.apply(event);
  expect(await flush(true)).toContain(policy.key);
  expect(quarantinedOf(state).map(({ id }) => id)).toEqual([policy.value.id]);
  expect(state.cluster.policies.get(policy.value.id)?.ingress).toEqual([]);
  state.renewEngine();
  await flush();
  expect(quarantinedOf(state)).toHaveLength(1);

  for (const { type, key } of pods.slice(20)) state.apply({ type, key } as ClusterEvent);
  nowMs = 31_000;
  await flush();
  await flush();
  expect(quarantinedOf(state)).toEqual([]);
  expect(state.cluster.policies.get(policy.value.id)).toBe(policy.value);
});

test('a policy without room comes back whole, although the kernel refused a batch meanwhile', async () => {
  let nowMs = 0;
  const room = { ofNamespace: 50, ofAll: 100 };
  const engine = () => new Incremental(NODE, 'allow', 'others', undefined, { room });
  const state = new DesiredState({ makeEngine: engine, node: NODE, timing: { now: () => nowMs } });
  const flush = (isFirst = false) => state.flush(EMPTY, new BatchScope(isFirst));
  const policy = policyEvent(ingressPolicy('tenant/web', [from('tenant')]));
  const pods = crowd('tenant', 60, 'red');
  for (const event of [...pods, podEvent(tenantPod('tenant', 1, { node: NODE })), policy]) state.apply(event);
  await flush(true);
  state.committed(1);
  state.apply(policyEvent(ingressPolicy('neighbour/deny', [])));
  await flush();
  expect(state.refused(new KernelError('EINVAL', 'of whatever it is'))).toBe(true);
  expect(state.cluster.policies.get(policy.value.id)?.ingress).toEqual([]);
  expect(quarantinedOf(state).map(({ id }) => id)).toEqual([policy.value.id]);

  for (const { type, key } of pods.slice(20)) state.apply({ type, key } as ClusterEvent);
  for (let tries = 0; tries < 3; tries++) {
    await flush();
    state.committed(1);
    nowMs += 31_000;
  }
  expect(quarantinedOf(state)).toEqual([]);
  expect(state.cluster.policies.get(policy.value.id)).toBe(policy.value);
});

function from(namespace: string): Rule {
  const selector = { namespaces: { kind: 'name', name: namespace }, pods: { requirements: [] } } as const;
  return { path: 'ingress[0]', action: 'accept', peers: [{ kind: 'pods', selector }], ports: 'any' };
}

test('an engine that is made anew puts nothing ahead any more', () => {
  const stagesPrepared: boolean[] = [];
  const make = (its: boolean) => {
    stagesPrepared.push(its);
    return new Incremental(NODE);
  };
  new DesiredState({ makeEngine: make, node: NODE, timing: { now: () => 0 } }).renewEngine();
  expect(stagesPrepared).toEqual([true, false]);
});
