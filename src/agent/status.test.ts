import { describe, expect, test } from 'vitest';
import { parseAddress } from '../model/address.ts';
import { type Cluster, ClusterState, type Pod, type PodKey } from '../model/cluster.ts';
import type { Op } from '../nft/plan/op.ts';
import { StatusKeeper } from './status.ts';

const POD: Pod = {
  key: 'shop/web',
  namespace: 'shop',
  name: 'web',
  labels: {},
  node: 'one',
  addresses: [parseAddress('10.0.0.1')!],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
};
const OPS: readonly Op[] = [{ op: 'delTable', family: 'ip' }];

function setUp() {
  let atMs = 1000;
  const cluster = new ClusterState();
  const keeper = new StatusKeeper('one', { date: () => atMs, now: () => atMs });
  const note = (value: Pod | null = POD) => {
    const event = { type: 'pod' as const, key: POD.key, ...(value && { value }) };
    cluster.apply(event);
    keeper.noted([event]);
  };
  const follow = (ops: readonly Op[] = OPS, seen: Cluster = cluster, waitingPods = new Set<PodKey>()) =>
    keeper.committed({ cluster: seen, ops, names: ['Pod shop/web'], tookMs: 5, dumped: false, waitingPods });
  const wait = (ms: number) => {
    atMs += ms;
  };
  return { keeper, cluster, note, follow, wait };
}

describe('StatusKeeper', () => {
  test('counts an event as pending until the batch that held it is in the kernel', () => {
    const { keeper, note, follow, wait } = setUp();
    note();
    wait(10);
    expect(keeper.status()).toMatchObject({ pending: 1, lagMs: 10 });
    keeper.committing();
    note(); // comes while the batch is under way
    wait(5);
    follow();
    expect(keeper.status()).toMatchObject({ pending: 1, lagMs: 5, totals: { commits: 1, operations: 1 } });
    expect(keeper.takeAges()).toEqual([{ ms: 15, events: 1 }]);
    expect(keeper.takeAges()).toEqual([]);
  });

  test('tells of pods that wait for another batch how many they are and for how long, beside what is on its way', () => {
    const { keeper, note, follow, wait } = setUp();
    note();
    keeper.committing();
    wait(10);
    note(); // comes while the batch is under way that leaves the pod for another one
    follow(OPS, undefined, new Set([POD.key]));
    expect(keeper.status()).toMatchObject({ pending: 1, lagMs: 0, waitingPods: 1, waitingMs: 10 });
    expect(keeper.takeAges()).toEqual([]);
    wait(5);
    keeper.committing();
    expect(keeper.status()).toMatchObject({ pending: 1, lagMs: 5, waitingPods: 1, waitingMs: 15 });
    keeper.failed(new Error('ENOMEM'));
    keeper.committing();
    follow();
    expect(keeper.status()).toMatchObject({ pending: 0, lagMs: 0, waitingPods: 0, waitingMs: 0 });
    expect(keeper.takeAges()).toEqual([
      { ms: 15, events: 1 },
      { ms: 5, events: 1 },
    ]);
  });

  test('tells of policies that wait for their turn, longest first, and not as of what is on its way', () => {
    const { keeper, follow, wait } = setUp();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => `NetworkPolicy shop/${name}` as const);
    const deferred = ids.map(id => ({
      id,
      kind: 'pending' as const,
      change: 'edit' as const,
      sinceMs: 1000,
    }));
    for (const key of ids) keeper.noted([{ type: 'policy', key }]);
    keeper.committing(deferred);
    follow();
    wait(20_000);
    const { pending, lagMs, waitingPolicies, waitingPoliciesMs, waitingPolicyNames } = keeper.status();
    expect([pending, lagMs, waitingPolicies, waitingPoliciesMs]).toEqual([0, 0, 6, 20_000]);
    expect(waitingPolicyNames).toEqual(ids.slice(0, 5));
    keeper.committing();
    follow();
    expect(keeper.status()).toMatchObject({
      waitingPolicies: 0,
      waitingPoliciesMs: 0,
      waitingPolicyNames: [],
    });
    expect(keeper.takeAges()).toEqual([{ ms: 20_000, events: 6 }]);
  });

  test('keeps the lag over an attempt that failed', () => {
    const { keeper, note, follow, wait } = setUp();
    note();
    keeper.committing();
    keeper.failed(new Error('ENOMEM'));
    wait(100);
    expect(keeper.status()).toMatchObject({ lagMs: 100, failuresInARow: 1, lastError: 'ENOMEM' });
    keeper.committing();
    follow();
    expect(keeper.status()).toMatchObject({ lagMs: 0, failuresInARow: 0, totals: { failures: 1 } });
  });

  test('tells since when the rules of a pod are in force, and not while a change of it waits', () => {
    const { keeper, note, follow, wait } = setUp();
    note();
    expect(keeper.pod(POD.key)).toBeUndefined();
    keeper.committing();
    follow();
    expect(keeper.pod(POD.key)).toMatchObject({ sinceMs: 1000 });
    wait(50);
    note();
    expect(keeper.pod(POD.key)?.sinceMs).toBeUndefined();
    keeper.committing();
    expect(keeper.pod(POD.key)?.sinceMs).toBeUndefined();
    follow();
    expect(keeper.pod(POD.key)).toMatchObject({ sinceMs: 1000 });
  });

  test('forgets a pod that is gone, and knows none of another node', () => {
    const { keeper, note, follow } = setUp();
    for (const value of [POD, null, { ...POD, node: 'two' }]) {
      note(value);
      keeper.committing();
      follow();
      expect(keeper.pod(POD.key) !== undefined).toBe(value === POD);
    }
  });

  test('keeps the newest commits, and no more of them than a person reads', () => {
    const { keeper, follow, wait } = setUp();
    for (let i = 0; i < 30; i++) {
      wait(1);
      follow();
    }
    const { commits, totals } = keeper.status();
    expect([commits.length, commits[0]!.atMs, totals.commits]).toEqual([20, 1030, 30]);
  });

  test('counts a look that found nothing to do as a proof, not as a commit', async () => {
    const { keeper, follow } = setUp();
    follow([]);
    await keeper.firstProgrammed;
    expect(keeper.status()).toMatchObject({ equalAtMs: 1000, commits: [], totals: { commits: 0 } });
  });

  test('names a source while it cannot be read, and counts its returns', () => {
    const { keeper } = setUp();
    keeper.onSource({ source: 'pods', state: 'lost', reason: 'refused' });
    expect(keeper.status().lostSources).toEqual(['pods']);
    keeper.onSource({ source: 'pods', state: 'recovered' });
    expect([keeper.status().lostSources, keeper.watchRestarts]).toEqual([[], 1]);
  });
});
